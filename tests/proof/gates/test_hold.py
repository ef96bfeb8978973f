"""Gates follow their bounds. A figure that was not measured fails; a figure of another set is refused."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from parkf.cli.main import app
from parkf.io.errors import ParkfError
from parkf.proof.gates import GATES_FILE, Thresholds, hold, load_thresholds

ROOT = Path(__file__).parents[3]
MOMENTUM = [
    {"p_min": 3.0, "p_max": 5.0, "core": 0.004, "core_error": 0.0001, "bias": -0.002},
    {"p_min": 5.0, "p_max": 10.0, "core": 0.005, "core_error": 0.0002, "bias": 0.001},
]
FULL = [entry | {"core": 0.004} for entry in MOMENTUM]


@pytest.fixture
def run(tmp_path, parameters):
    """A run's folder, with few figures."""
    parameters.save(tmp_path / "set")
    figures = {
        "fits": {"parkf": {"momentum": MOMENTUM}, "full": {"momentum": FULL}},
        "counts": {"genuine": 8, "crossings": 64},
    }
    for name in ("validation", "accuracy"):
        content = {**figures, "set": parameters.manifest.blobs.fingerprints()}
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    return tmp_path


def held(run, **threshold):
    described = {"gate": "a", "reason": "b", **threshold}
    (gate,) = hold(run / "set", Thresholds.model_validate({"gates": [described]}))
    return gate


CORE = "validation.json: fits/parkf/momentum[p_min>=3]/core"
BIAS = "validation.json: fits/parkf/momentum[p_min>=3]/bias"


@pytest.mark.parametrize(
    ("bounds", "met", "worst"),
    [
        ({"figure": CORE, "at_most": 0.005}, True, 0.005),  # bounds are included
        # Errors are 0.0001 and 0.0002; bounds give way by three of them.
        ({"figure": CORE, "at_most": 0.0045}, True, 0.005),
        ({"figure": CORE, "at_most": 0.0043}, False, 0.005),
        ({"figure": CORE, "at_least": 0.0044}, False, 0.004),
        ({"figure": BIAS, "at_least": -0.0015, "at_most": 0.0015}, False, -0.002),
        ({"figure": BIAS, "at_least": -0.0025, "at_most": 0.0025}, True, -0.002),
    ],
)
def test_the_worst_of_several_decides(run, bounds, met, worst):
    gate = held(run, **bounds)
    assert gate.met is met
    assert gate.value == pytest.approx(worst, rel=1e-12)
    error = {0.005: 0.0002, 0.004: 0.0001}.get(worst, 0.0)
    widened = [bounds.get(name, np.nan) + way * 3 * error for name, way in (("at_least", -1), ("at_most", 1))]
    found = [np.nan if bound is None else bound for bound in (gate.at_least, gate.at_most)]
    assert found == pytest.approx(widened, nan_ok=True)


def test_a_count_is_recorded_as_a_float(run):
    """The manifest of a set has the same bytes whether a figure is a whole number or not."""
    gate = held(run, figure="validation.json: counts/genuine", at_least=8)
    assert gate.met
    assert (gate.value, type(gate.value)) == (8.0, float)


@pytest.mark.parametrize(
    ("configuration", "client"), [(None, "parkf"), ({"training.client": '"trigger"'}, "trigger")]
)
def test_gates_are_those_of_the_sets_client(run, parameters, configuration, client):
    manifest = parameters.manifest.model_copy(update={"configuration": configuration})
    replace(parameters, manifest=manifest).save(run / "set")
    gates = [
        {"gate": f"of {name}", "reason": "b", "figure": CORE, "at_most": 1, "client": name}
        for name in ("parkf", "trigger")
    ]
    (gate,) = hold(run / "set", Thresholds.model_validate({"gates": gates}))
    assert gate.what == f"of {client}"


def test_bounds_give_way_by_three_errors(run):
    gate = held(run, figure=CORE, at_least=0.001, at_most=0.0049)
    assert gate.met
    assert (gate.at_least, gate.at_most) == pytest.approx((0.0004, 0.0055))
    assert gate.bar == "0.001 to 0.0049, give or take 3 errors"


def test_a_figure_without_an_error_has_the_bounds_as_they_are(run):
    gate = held(run, figure=BIAS, at_least=-0.001)
    assert not gate.met
    assert (gate.at_least, gate.bar) == (-0.001, "≥ -0.001")


@pytest.mark.parametrize(
    ("bounds", "met", "measured"),
    [
        # Errors are 0.0001 and 0.0002; the power is half of an interval, or a single bound.
        ({"at_least": 0.0036, "at_most": 0.0052}, True, "0.00500 ± 0.00020 (5–10 GeV)"),
        ({"at_least": 0.00395, "at_most": 0.00445}, True, "0.00500 ± 0.00020 (5–10 GeV)"),
        # With 64 crossings, the larger error needs 1.56 times as many.
        (
            {"at_least": 0.0043, "at_most": 0.00462, "count": 2},
            False,
            "not measured: 0.00400 ± 0.00010 (3–5 GeV); 1 of 2 measured; 36 more crossings",
        ),
        (
            {"at_least": 0.00395, "at_most": 0.0042, "count": 2},
            False,
            "0.00500 ± 0.00020 (5–10 GeV); 1 of 2 measured",
        ),
    ],
)
def test_a_figure_with_an_error_beyond_its_bars_power_does_not_count(run, bounds, met, measured):
    gate = held(run, figure=CORE, **bounds)
    assert gate.met is met
    assert gate.measured == measured
    assert (gate.value is None) == gate.measured.startswith("not measured")


def test_a_single_figure_without_power_is_not_measured(run):
    single = "validation.json: fits/parkf/momentum[p_min<=3]/core"
    assert held(run, figure=single, at_least=0.0039, at_most=0.0041001).met
    gate = held(run, figure=single, at_least=0.00395, at_most=0.00405)
    assert (gate.met, gate.value) == (False, None)
    assert gate.measured == "not measured: 0.00400 ± 0.00010; 190 more crossings"


def test_bins_that_lack_tracks_say_how_many_crossings_they_lack(run):
    """The second cell has 40 of 100 tracks, so that 64 crossings must become 160."""
    figures = json.loads((run / "validation.json").read_text())
    figures["fits"]["parkf"]["cells"] = [{"n": n, "bias": 0.1, "bias_error": 0.001} for n in (160, 40, 20)]
    (run / "validation.json").write_text(json.dumps(figures))
    path = "validation.json: fits/parkf/cells[n>=100]/bias"
    assert held(run, figure=path, at_most=1).met
    gate = held(run, figure=path, at_most=1, count=2)
    assert gate.measured == "not measured: 0.1000 ± 0.0010; 1 of 2 measured; 96 more crossings"
    assert held(run, figure=path, at_most=1, count=9).measured.endswith("; 1 of 9 measured")


def test_a_miss_is_a_miss_whatever_its_error(run):
    gate = held(run, figure=CORE, at_least=0.0051, at_most=0.0052)
    assert (gate.met, gate.value) == (False, 0.004)
    assert gate.measured == "0.00400 ± 0.00010 (3–5 GeV)"


def test_what_is_shown(run):
    gate = held(run, figure=CORE, at_most=0.01, unit="%")
    assert (gate.measured, gate.bar) == ("0.500 ± 0.020 % (5–10 GeV)", "≤ 1 %, give or take 3 errors")
    assert gate.figure == "validation.json: fits/parkf/momentum[1]/core"
    assert held(run, figure=CORE, at_least=0.001, at_most=0.01, unit="mm").bar.startswith("0.001 to 0.01 mm")


def test_what_was_not_measured_misses_its_gate(run):
    gate = held(run, at_most=1000, figure="validation.json: fits/missing/momentum[p_min>=3]/core")
    assert (gate.measured, gate.met, gate.value) == ("not measured", False, None)


def test_fewer_figures_than_asked_for_miss_their_gate(run):
    assert held(run, figure=CORE, at_most=1, count=2).met
    gate = held(run, figure=CORE, at_most=1, count=3)
    assert (gate.met, gate.value) == (False, None)
    assert gate.measured == "not measured: 0.00500 ± 0.00020 (5–10 GeV); 2 of 3 measured"


@pytest.mark.parametrize(
    ("bounds", "met", "worst", "bar"),
    [
        ([0.0041, 0.0046], True, 0.005, "≤ 0.0046 there"),  # a margin of 4 %, beside one of 9 %
        ([0.0038, 0.0046], True, 0.004, "≤ 0.0038 there"),
        ([0.0036, 0.0060], False, 0.004, "≤ 0.0036 there"),
        ([0.0036, 0.0042], False, 0.005, "≤ 0.0042 there"),
        ([0.0050], False, None, "≤ 0.005 … 0.005"),  # one bound on two figures
    ],
)
def test_each_figure_has_its_own_bound(run, bounds, met, worst, bar):
    gate = held(run, figure=CORE, at_most_each=bounds)
    assert (gate.met, gate.value, gate.bar.partition(",")[0]) == (met, worst, bar)


@pytest.mark.parametrize(
    ("value", "shown"), [(1.01023, "1.0102"), (1.0098, "1.01"), (1.0100004, "1.0100004"), (1.2345, "1.23")]
)
def test_a_rounded_figure_is_on_its_side_of_the_bar(run, value, shown):
    figures = json.loads((run / "validation.json").read_text()) | {"ratio": value}
    (run / "validation.json").write_text(json.dumps(figures))
    assert held(run, figure="validation.json: ratio", at_most=1.01).measured == shown


def test_figures_of_lhcbs_hits_are_asked_of_runs_that_have_them(run, parameters):
    gates = [
        {"gate": "a", "reason": "b", "figure": CORE, "at_most": 1},
        {"gate": "c", "reason": "b", "figure": "lhcb.json: fits/parkf/pulls/qop/width", "at_most": 1},
    ]
    thresholds = Thresholds.model_validate({"gates": gates})
    assert [gate.what for gate in hold(run / "set", thresholds)] == ["a"]
    content = {"fits": {"parkf": {"pulls": {"qop": {"width": 1.1}}}}}
    (run / "lhcb.json").write_text(json.dumps(content))
    with pytest.raises(ParkfError, match=r"lhcb\.json: does not say which set was measured"):
        hold(run / "set", thresholds)
    content["set"] = parameters.manifest.blobs.fingerprints()
    (run / "lhcb.json").write_text(json.dumps(content))
    assert [gate.met for gate in hold(run / "set", thresholds)] == [True, False]


def test_figures_of_another_set_are_refused(run):
    path = run / "accuracy.json"
    content = json.loads(path.read_text())
    path.write_text(json.dumps(content | {"set": content["set"] | {"table": "0" * 64}}))
    with pytest.raises(ParkfError, match=r"set\.table: got 000000000000…, expected .* of another"):
        held(run, figure=CORE, at_most=1)
    path.write_text(json.dumps({**content, "set": None}))
    with pytest.raises(ParkfError, match=r"accuracy\.json: does not say which set was measured"):
        held(run, figure=CORE, at_most=1)


def test_forms(run):
    only = {"gate": "a", "reason": "b", "figure": CORE, "at_most": 1}
    gates = {"gates": [only | {"forms": "improved"}, only | {"forms": "production", "at_most": 2}]}
    (gate,) = hold(run / "set", Thresholds.model_validate(gates))
    assert gate.at_most == pytest.approx(2 + 3 * 0.0002)


def test_the_command(run, tmp_path):
    def call(bound, *options):
        gates = tmp_path / "gates.yaml"
        gates.write_text(
            yaml.safe_dump({"gates": [{"gate": "a", "reason": "b", "figure": CORE, "at_most": bound}]})
        )
        done = CliRunner().invoke(app, ["gate", str(run), "--gates", str(gates), *options])
        return done.exit_code, done.output

    code, text = call(0.01)
    assert code == 0
    assert text.endswith("1 gates: 1 met, 0 missed, 0 not measured\n")
    code, text = call(0.001, "--json")
    assert code == 1
    content = json.loads(text)
    assert content["passed"] is False
    assert content["gates"][0]["value"] == 0.005
    (run / "validation.json").unlink()
    code, text = call(0.01)
    assert code == 2
    assert "validation.json: no such file" in text
    assert call("x")[0] == 2


def test_shipped_gates_are_for_all_forms():
    """tests/runs, which has a finished run, tests that the figures of these gates exist."""
    thresholds = load_thresholds(ROOT / GATES_FILE)
    assert {one.forms for one in thresholds.gates} == {None, "improved", "production"}
    assert {"pull width of x", "ghosts kept at 91 % genuine efficiency"} <= {o.gate for o in thresholds.gates}


@pytest.fixture
def realigned(run, tmp_path, parameters):
    """The folder of a realigned set beside that of its run; its tracks measured one of three bins."""
    folder = tmp_path / "realigned"
    parameters.save(folder / "set")
    blobs = parameters.manifest.blobs.fingerprints()
    figures = {"fits": {"parkf": {"momentum": [MOMENTUM[0] | {"core": 0.0045}]}}, "set": blobs}
    (folder / "validation.json").write_text(json.dumps(figures))

    def write(*, is_worse=False):
        proof = {"set": blobs, "before": {"folder": str(run / "set"), "set": blobs}}
        (folder / "realign.json").write_text(json.dumps(proof | {"is_worse": is_worse, "answer": "said"}))
        return folder

    return write


def gates_of(folder, **threshold):
    described = {"gate": "a", "reason": "b", "at_most": 0.006, **threshold}
    return hold(folder / "set", Thresholds.model_validate({"gates": [described]}))


def test_a_realigned_set_has_gates_of_its_own_tracks_or_else_of_the_set_before(realigned):
    own, same_tracks = gates_of(realigned(), figure=CORE)
    assert (own.met, own.value, same_tracks.met) == (True, 0.0045, True)
    # Two bins are wanted, or a figure of the steps: the set before has them.
    before, _ = gates_of(realigned(), figure=CORE, count=2)
    assert (before.met, before.value) == (True, 0.005)
    assert before.measured.startswith("before the realignment: 0.005")
    before, _ = gates_of(realigned(), figure=CORE.replace("validation", "accuracy"))
    assert before.measured.startswith("before the realignment: ")
    # What its own tracks miss is missed, whatever the set before had.
    assert not gates_of(realigned(), figure=CORE, at_most=0.004)[0].met


def test_a_realigned_set_that_is_worse_than_before_misses_a_gate(realigned):
    *_, gate = gates_of(realigned(is_worse=True), figure=CORE)
    assert (gate.met, gate.what, gate.measured) == (False, "on the same tracks as before", "said")


def test_without_the_set_before_its_gates_are_not_measured(realigned, run):
    folder = realigned()
    (run / "set").rename(run / "elsewhere")
    before, _ = gates_of(folder, figure=CORE, count=2)
    assert not before.met
    assert before.measured.startswith("not measured")


def test_the_proof_of_another_set_is_refused(realigned):
    folder = realigned()
    content = json.loads((folder / "realign.json").read_text())
    content["before"]["set"]["table"] = "0" * 64
    (folder / "realign.json").write_text(json.dumps(content))
    with pytest.raises(ParkfError, match="the figures are those of another"):
        gates_of(folder, figure=CORE)
