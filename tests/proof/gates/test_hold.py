"""Gates follow their bounds. A figure that was not measured fails; a figure of another set is refused."""

import json
from dataclasses import replace
from pathlib import Path

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
        "counts": {"genuine": 8},
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
        ({"figure": CORE, "at_most": 0.0049}, False, 0.005),
        ({"figure": CORE, "at_least": 0.0041}, False, 0.004),
        ({"figure": BIAS, "at_least": -0.0015, "at_most": 0.0015}, False, -0.002),
        ({"figure": BIAS, "at_least": -0.0025, "at_most": 0.0025}, True, -0.002),
        ({"figure": CORE, "over": CORE.replace("parkf", "full"), "at_most": 1.2}, False, 1.25),
        ({"figure": CORE, "over": "validation.json: counts/genuine", "at_most": 1}, True, 0.000625),
        ({"figure": CORE, "minus": CORE.replace("parkf", "full"), "at_most": 0.0011}, True, 0.001),
        ({"figure": CORE, "minus": CORE.replace("parkf", "full"), "at_most": 0.0009}, False, 0.001),
    ],
)
def test_the_worst_of_several_decides(run, bounds, met, worst):
    gate = held(run, **bounds)
    assert gate.met is met
    assert gate.value == pytest.approx(worst, rel=1e-12)
    assert (gate.at_least, gate.at_most) == (bounds.get("at_least"), bounds.get("at_most"))


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


@pytest.mark.parametrize(("errors", "met"), [(0, False), (0.4, False), (0.6, True)])
def test_bounds_give_way_by_errors(run, errors, met):
    gate = held(run, figure=CORE, at_least=0.001, at_most=0.0049, errors=errors)
    assert gate.met is met
    assert gate.at_most == pytest.approx(0.0049 + errors * 0.0002)
    assert gate.bar == "0.001 to 0.0049" + (f", give or take {errors} errors" if errors else "")


@pytest.mark.parametrize(("errors", "met"), [(0, False), (0.6, False), (0.8, True)])
def test_errors_of_a_ratio_are_those_of_independent_figures(run, errors, met):
    # 0.005 ± 0.0002 over 0.004 ± 0.0002: 1.25 ± 0.080.
    gate = held(run, figure=CORE, over=CORE.replace("parkf", "full"), at_most=1.19, errors=errors)
    assert gate.met is met
    assert gate.measured == ("1.250 ± 0.080 (5–10 GeV)" if errors else "1.25 (5–10 GeV)")


def test_a_figure_without_an_error_has_the_bounds_as_they_are(run):
    assert not held(run, figure=BIAS, at_least=-0.001, errors=5).met


@pytest.mark.parametrize(
    ("bounds", "met", "measured"),
    [
        # Errors are 0.0001 and 0.0002; the power is half of an interval, or a single bound.
        ({"at_least": 0.0037, "at_most": 0.0052}, True, "0.00500 ± 0.00020 (5–10 GeV)"),
        ({"at_least": 0.00395, "at_most": 0.0042, "errors": 5}, True, "0.00500 ± 0.00020 (5–10 GeV)"),
        (
            {"at_least": 0.00395, "at_most": 0.0042, "errors": 5, "count": 2},
            False,
            "not measured: 0.00500 ± 0.00020 (5–10 GeV); 1 of 2 measured; errors above 0.000125 show nothing",
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
    assert gate.measured == "not measured: 0.00400 ± 0.00010; errors above 5e-05 show nothing"


def test_a_miss_is_a_miss_whatever_its_error(run):
    gate = held(run, figure=CORE, at_least=0.0051, at_most=0.0052)
    assert (gate.met, gate.value) == (False, 0.004)


def test_what_is_shown(run):
    gate = held(run, figure=CORE, at_most=0.01, unit="%")
    assert (gate.measured, gate.bar) == ("0.500 ± 0.020 % (5–10 GeV)", "≤ 1 %")
    assert gate.figure == "validation.json: fits/parkf/momentum[1]/core"
    assert held(run, figure=CORE, at_least=0.001, at_most=0.01, unit="mm").bar == "0.001 to 0.01 mm"


@pytest.mark.parametrize(
    "threshold",
    [
        {"figure": "validation.json: fits/missing/momentum[p_min>=3]/core"},
        {"figure": CORE, "over": "validation.json: fits/none/momentum[p_min>=3]/core"},
        {"figure": CORE, "over": "validation.json: fits/f*/momentum[p_min>=3]/core"},
        {"figure": CORE, "minus": "validation.json: fits/none/momentum[p_min>=3]/core"},
        {"figure": CORE, "minus": "validation.json: fits/full/momentum[p_min>=5]/core"},
    ],
)
def test_what_was_not_measured_misses_its_gate(run, threshold):
    gate = held(run, at_most=1000, **threshold)
    assert (gate.measured, gate.met, gate.value) == ("not measured", False, None)


def test_fewer_figures_than_asked_for_miss_their_gate(run):
    assert held(run, figure=CORE, at_most=1, count=2).met
    gate = held(run, figure=CORE, at_most=1, count=3)
    assert not gate.met
    assert gate.measured.endswith("; 2 of 3 measured")


@pytest.mark.parametrize(
    ("bounds", "met", "worst", "bar"),
    [
        ([0.0041, 0.0051], True, 0.005, "≤ 0.0051 there"),  # a margin of 2 %, beside one of 2.5 %
        ([0.0041, 0.0050], True, 0.005, "≤ 0.005 there"),
        ([0.0039, 0.0060], False, 0.004, "≤ 0.0039 there"),
        ([0.0039, 0.0049], False, 0.004, "≤ 0.0039 there"),
        ([0.0050], False, None, "≤ 0.005 … 0.005"),  # one bound on two figures
    ],
)
def test_each_figure_has_its_own_bound(run, bounds, met, worst, bar):
    gate = held(run, figure=CORE, at_most_each=bounds)
    assert (gate.met, gate.value, gate.bar) == (met, worst, bar)


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
    assert gate.at_most == 2


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
    assert text.endswith("all 1 gates met\n")
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
