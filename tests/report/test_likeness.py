"""The page that compares two simulations."""

import copy
from itertools import pairwise

import numpy as np
import pytest
from tests.stage import stage

from parkf.io.errors import ParkfError
from parkf.io.files import read_json, write_json
from parkf.report.likeness import SEARCH, SEARCHES, SECTIONS, search_figures, write_likeness

NAMES = [row["name"] for rows in SECTIONS.values() for row in rows]
HISTOGRAMS = ("p", "eta", "velo", "ut", "scifi")


@pytest.fixture
def sample():
    edges = np.linspace(2, 100, 5).tolist()
    return {
        "events": 10,
        "tracks": 600,
        "figures": {name: {"value": 0.5, "error": 0.01} for name in NAMES},
        "histograms": {
            name: {"edges": edges, "content": [0.25] * 4, "error": [0.02] * 4} for name in HISTOGRAMS
        },
    }


@pytest.fixture
def fit():
    entry = {"p_min": 5.0, "p_max": 20.0}
    for name, number in (("width68", 0.005), ("bias", 0.001)):
        entry |= {name: number, f"{name}_error": number / 100}
    entry["pulls"] = {"qop": {"width": 1.1, "width_error": 0.011, "width68": 1.2}}
    one = {"median": 0.97, "median_error": 0.01, "large": 0.02}
    return {"momentum": [entry], "chi2": dict.fromkeys(("velo", "ut", "scifi", "all"), one)}


@pytest.fixture
def page(tmp_path, sample, fit):
    def write(other, other_fit=None):
        contents = {"one": sample, "two": other, "fit": fit, "other_fit": other_fit or fit}
        paths = {name: tmp_path / f"{name}.json" for name in contents}
        for name, content in contents.items():
            write_json(paths[name], content)
        target = tmp_path / "likeness.html"
        write_likeness(paths["one"], paths["two"], {"full": (paths["fit"], paths["other_fit"])}, target)
        return target.read_text()

    return write


def test_figures_that_differ_are_marked(page, sample):
    other = copy.deepcopy(sample)
    assert page(other).count(">differs<") == 0
    other["figures"]["ghosts"]["value"] = 0.6  # 7 errors
    other["figures"]["velo_modules"]["value"] = 0.53  # 2 errors
    text = page(other)
    assert text.count(">differs<") == 1
    assert text.count(">alike<") == len(NAMES) - 1
    line = text[text.index("ghosts among them") :]
    assert "60.0 ± 1.0 %" in line[: line.index("</tr>")]
    assert ">differs<" in line[: line.index("</tr>")]


def test_a_difference_of_a_percent_is_not_marked_however_small_its_error(page, sample):
    other = copy.deepcopy(sample)
    for one in (sample, other):
        one["figures"]["velo_modules"]["error"] = 1e-6
    other["figures"]["velo_modules"]["value"] = 0.505
    assert page(other).count(">differs<") == 0


def test_fits_stand_beside_each_other(page, sample, fit):
    other = copy.deepcopy(fit)
    other["momentum"][0]["width68"] = 0.006
    text = page(sample, other)
    assert "<h3>full fit</h3>" in text
    half, width = (
        f'<td><data value="{value}" data-error="0.005">{value}00 ± 0.005</data></td>' for value in (0.5, 0.6)
    )
    assert half + width in text


def test_bins_that_only_one_has_are_left_out(page, sample, fit):
    text = page(sample, fit | {"momentum": []})
    assert "5–20 GeV" not in text


def test_searches_stand_beside_each_other_with_what_both_have(tmp_path, sample):
    edges = (2, 3, 5, 10, 20, 100)
    efficiency = {"efficiency": 0.5, "efficiency_error": 0.01}
    point = {"cut": -2.5, "cut_error": 0.1, "ghost": 0.2, "ghost_error": 0.01}
    fewer = {"ghosts": 0.5, "ghosts_error": 0.01}
    fewer["efficiency"] = [efficiency | {"p_min": low, "p_max": high} for low, high in pairwise(edges)]
    full = fewer | {"chi2": {"working_point": point}}
    assert search_figures(full).keys() == {row["name"] for row in SEARCH}
    paths = {name: tmp_path / f"{name}.json" for name in ("one", "all", "fewer")}
    for path, content in zip(paths.values(), (sample, full, fewer), strict=True):
        write_json(path, content)
    searches = {"found": (paths["all"], paths["all"]), "truth": (paths["all"], paths["fewer"])}
    page = tmp_path / "page.html"
    write_likeness(paths["one"], paths["one"], {}, page, searches=searches)
    text = page.read_text()
    assert all(title in text for title in SEARCHES.values())
    assert text.count("efficiency, 5–10 GeV") == 2
    assert text.count("genuine tracks stay below") == 1


def test_the_same_figures_give_the_same_bytes(page, sample):
    assert page(sample) == page(sample)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ParkfError, match=r"none\.json"):
        write_likeness(tmp_path / "none.json", tmp_path / "none.json", {}, tmp_path / "page.html")


def test_the_others_figures_are_kept_for_gates(tmp_path, sample, fit):
    """The full fit uses no set; the file has the checksums of the set that the other fits used."""
    paths = {name: tmp_path / f"{name}.json" for name in ("sample", "plain", "full", "page", "kept")}
    write_json(paths["sample"], sample)
    write_json(paths["plain"], fit | {"set": {"table": "abc"}})
    write_json(paths["full"], fit | {"set": None})
    stage(
        "likeness",
        embedded=paths["sample"],
        other=paths["sample"],
        measured=[paths["full"], paths["full"], paths["plain"], paths["plain"]],
        searches=[],
        fits=["full", "parkf"],
        kinds=[],
        output=paths["page"],
        figures=paths["kept"],
    )
    assert read_json(paths["kept"]) == {"set": {"table": "abc"}, "fits": {"full": fit, "parkf": fit}}
