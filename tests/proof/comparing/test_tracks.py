"""Sets on the tracks of a run, and on tracks of another detector."""

import shutil
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from parkf.cli.main import app
from parkf.detector.field import make_field_map
from parkf.detector.geometry import load_geometry
from parkf.io.errors import ParkfError
from parkf.proof.comparing.effect import _losses, _sentence, measure_effect
from parkf.proof.comparing.tracks import exchange_sets, fit_on
from parkf.simulation.generate.collisions import generate
from parkf.simulation.pattern import find_candidates
from parkf.simulation.response.simulate import simulate

ROOT = Path(__file__).parents[3]
NEW, OLD = (ROOT / f"params/2026-run3-like-2-{name}" for name in ("r017", "r002"))
NOMINAL = ROOT / "data/geometry/alignment_nominal.yaml"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """What comparisons on tracks read of a run, with 25 crossings of MagUp."""
    folder = tmp_path_factory.mktemp("results") / "small"
    for name in ("particles", "candidates"):
        (folder / name).mkdir(parents=True)
    particles, candidates = (folder / name / "validation_up.parquet" for name in ("particles", "candidates"))
    geometry = load_geometry(ROOT / "data/geometry/run3.yaml", NOMINAL)
    source = ROOT / "data/field/lhcb.json"
    field = make_field_map(source, spacing=200, interpolation="linear", outside="error")
    field.save(folder / "field.npz")
    generate(particles, beam=geometry.beam, events=25, seed=5, pile_up=5.5)
    hits = folder / "hits.parquet"
    simulate(particles, None, hits, geometry=geometry, field=field, polarity=1, seed=5)
    find_candidates(hits, candidates, geometry=geometry, field=field, polarity=1)
    return folder


def test_each_set_fits_the_same_rows(run):
    one, two = fit_on(run, [NEW, OLD])
    assert (one.rows["p_true"] == two.rows["p_true"]).all()
    assert (one.rows["qop"] != two.rows["qop"]).any()


def test_a_run_without_candidates_says_so(run, tmp_path):
    shutil.copytree(run / "candidates", tmp_path / "candidates")
    with pytest.raises(ParkfError, match="no candidates and particles of its validation; name a run"):
        fit_on(tmp_path, [NEW])
    assert exchange_sets([run, tmp_path]) == []


def test_sets_are_exchanged_between_runs(run, tmp_path):
    runs = []
    for name, made in (("new", NEW), ("old", OLD)):
        shutil.copytree(run, tmp_path / name)
        shutil.copytree(made, tmp_path / name / "set")
        runs.append(tmp_path / name)
    (_, new_on_old), (old_on_new, own) = exchange_sets(runs)
    assert own is None
    one, two = (found["figures"][0] for found in (new_on_old, old_on_new))
    assert (one["own"], one["published"]) == (two["published"], two["own"])


def test_the_command_answers_on_the_tracks_of_a_run(run, monkeypatch):
    monkeypatch.chdir(ROOT)
    said = CliRunner().invoke(app, ["compare", NEW.name, NEW.name, "--on", str(run)])
    assert said.exit_code == 0, said.output
    assert said.output.startswith(f"Keep {NEW.name}: both sets fit all tracks alike.")
    assert f"{NEW.name} is worse by" in said.output


@pytest.mark.parametrize(
    "words", [["--effect"], ["--field", "f.npz"], ["--effect", "--field", "f.npz", "--on", "results/a"]]
)
def test_an_effect_needs_one_set_and_another_detector(words, monkeypatch):
    monkeypatch.chdir(ROOT)
    refused = CliRunner().invoke(app, ["compare", NEW.name, *words])
    assert refused.exit_code == 2
    assert "--effect needs one set" in refused.output


def figure(name, own, published, error, **place):
    numbers = {"own": own, "published": published, "error": error, "worse_error": error, "n": 99}
    return {"figure": name, **(place or {"p_min": 5, "p_max": 10}), **numbers}


def test_what_the_detector_costs_the_full_fit_is_no_loss():
    """There, the full fit's core is wider, too; the bias is the set's alone."""
    here = [figure("bias", 1e-4, 1.1e-4, 1e-5), figure("core", 0.004, 0.00404, 0.003)]
    there = [figure("bias", 1e-4, 21e-4, 1e-5), figure("core", 0.005, 0.00505, 0.004)]
    bias, core = _losses(here, [*there, figure("core", 0.005, 0.1, 0.01, p_min=1, p_max=2)])
    assert (bias["own"], bias["published"]) == pytest.approx((1e-5, 2e-3))
    assert bias["worse"] == pytest.approx(1.99e-3)
    assert (core["own"], core["published"]) == pytest.approx((1.01, 1.01))
    assert (core["worse"], core["worse_error"]) == pytest.approx((0, 0.005))
    said = _sentence({"figures": [bias, core], "crossings": 100}, "r017")
    assert said == (
        "r017 loses on this detector: its momenta at 5–10 GeV are 0.200 % high there, 0.001 % high in its own"
        " detector; it is worse by 0.199 ± 0.001 %."
    )
    said = _sentence(
        {
            "figures": [{**bias, "worse": 1e-6}, {**core, "worse": 1e-5, "worse_error": 0.01}],
            "crossings": 100,
        },
        "r",
    )
    assert said.startswith("r shows no loss on this detector; the largest difference: its momenta")
    assert "it is worse by 0.0 ± 1.0 %; 300 more crossings would tell" in said


def test_the_same_detector_under_another_name_costs_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    moved = tmp_path / "moved.yaml"
    moved.write_text(yaml.safe_dump(yaml.safe_load(NOMINAL.read_text()) | {"tag": "moved"}))
    found = measure_effect(NEW, {"alignment": moved}, crossings=8)
    assert found["version"] == NEW.name
    assert all(one["own"] == one["published"] and one["worse"] == 0 for one in found["figures"])
