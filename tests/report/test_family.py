"""The page of a family: differences of the configurations, the figures, and sets on the others' tracks."""

import json

import numpy as np
import pytest

from parkf.io.errors import ParkfError
from parkf.io.files import read_json, write_json
from parkf.params.configuration import flat
from parkf.params.parameter_set import ParameterSet, with_blobs
from parkf.params.validity import validity_of
from parkf.proof.gates import load_thresholds
from parkf.report.family import _matrix, differing, write_family

from ..sets import random_set

GATES = """
gates:
  - {gate: ghosts, figure: "validation.json: fits/parkf/working_point/ghost", at_most: 0.3, reason: Few.}
"""
BINS = ((3.0, 5.0), (5.0, 10.0), (10.0, 20.0), (20.0, 50.0), (50.0, 100.0))


@pytest.fixture
def thresholds(tmp_path):
    (tmp_path / "gates.yaml").write_text(GATES)
    return load_thresholds(tmp_path / "gates.yaml")


@pytest.fixture
def run(tmp_path):
    """Write the files of a finished run that the page reads."""
    made = random_set()
    # The error of every number is 0.1.
    numbers = made.manifest.model_dump(mode="json")["layout"]
    for block in numbers:
        for one in block["sets"]:
            for number in one["numbers"]:
                number["error"] = 0.1
    described = made.manifest.model_validate_json(
        json.dumps(made.manifest.model_dump(mode="json") | {"layout": numbers})
    )

    def make(name, *, alignment, moved=0.0, ghost=0.2, core=0.004, **limits):
        folder = tmp_path / "results" / name
        constant = made.constant.copy()
        constant[7] += np.float32(moved)
        manifest = described.model_copy(
            update={
                "configuration": flat({"seed": 1, "detector": {"alignment": alignment}}),
                "validity": validity_of(limits),
            }
        )
        changed = with_blobs(manifest, constant, made.table)
        ParameterSet(changed.constant, changed.table, changed.manifest).save(folder / "set")
        fit = {
            "momentum": [
                {
                    **{"p_min": low, "p_max": high, "core": core, "core_error": 1e-4},
                    **{"bias": 0.0, "bias_error": 1e-4},
                }
                for low, high in BINS
            ],
            "pulls": {c: {"width": 1.0 + 0.01 * i} for i, c in enumerate(("x", "y", "tx", "ty", "qop"))},
            "working_point": {"ghost": ghost, "genuine": 0.91},
        }
        blobs = changed.manifest.blobs.fingerprints()
        write_json(folder / "validation.json", {"fits": {"parkf": fit}, "set": blobs})
        write_json(folder / "accuracy.json", {"set": blobs})
        return folder

    return make


def test_members_stand_side_by_side(run, thresholds, tmp_path):
    runs = [
        run("fam.nominal", alignment="a.yaml", last_run=99),
        run("fam.tilted", alignment="b<i>.yaml", first_run=100, moved=0.8, ghost=0.35, core=0.0051),
    ]
    index = tmp_path / "results/fam/index.html"
    write_family(runs, index, thresholds)
    page = index.read_text()
    assert '<a href="../fam.tilted/report/index.html">tilted</a>' in page
    assert "runs from 100 on" in page
    assert "detector.alignment" in page
    assert "b&lt;i&gt;.yaml" in page
    assert "seed" not in page, "keys that are the same in all members are left out"
    assert '<span class="bad">0 of 1</span>' in page
    assert "plotly-basic.min.js" in page
    assert index.with_name("figures").joinpath("plotly-basic.min.js").exists()
    _, second = read_json(index.with_name("family.json"))["members"]
    assert second["own"] == {"detector.alignment": "b<i>.yaml"}
    assert second["gates"] == {"met": 0, "of": 1, "missed": ["ghosts"], "not_measured": []}
    assert [(b["p_min"], b["p_max"]) for b in second["core"]] == list(BINS[1:4])
    assert second["core"][0]["core"] == pytest.approx(0.0051)


def test_the_matrix_names_what_a_set_loses_on_the_tracks_of_another():
    one = {"figure": "bias", "p_min": 5, "p_max": 10, "worse": 2e-3, "worse_error": 1e-5}
    alike = {**one, "worse": 1e-5}
    shown = _matrix(["a", "b"], [[None, {"figures": [alike, one]}], [{"figures": [alike]}, None]])
    assert shown.head == ["set of", "tracks of a", "tracks of b"]
    assert shown.rows == [
        ["a", "its own", '<span class="bad">mean of δp/p worse by 0.200 ± 0.001 %, 5–10 GeV</span>'],
        ["b", '<span class="good">no loss seen</span>', "its own"],
    ]


def test_nothing_is_said_of_missed_gates_if_all_are_met(run, thresholds, tmp_path):
    runs = [run("fam.nominal", alignment="a.yaml"), run("fam.tilted", alignment="b.yaml", moved=0.8)]
    index = tmp_path / "results/fam/index.html"
    write_family(runs, index, thresholds)
    assert "1 of 1" in index.read_text()
    assert 'id="missed"' not in index.read_text()


def test_a_run_that_has_not_ended_leaves_no_page(run, thresholds, tmp_path):
    runs = [run("fam.nominal", alignment="a.yaml"), run("fam.tilted", alignment="b.yaml")]
    (runs[1] / "validation.json").unlink()
    index = tmp_path / "results/fam/index.html"
    with pytest.raises(ParkfError, match=r"fam\.tilted/validation\.json: no such file"):
        write_family(runs, index, thresholds)
    assert not index.exists()


def test_only_keys_that_differ_are_returned():
    found = differing([{"a": "1", "b": "2"}, {"a": "1", "b": "3"}, {"a": "1"}])
    assert found == [{"b": 2}, {"b": 3}, {"b": None}]
    assert differing([{"a": "1"}]) == [{}]
