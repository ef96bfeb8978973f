"""The first screen of a report has each gate once, and what to do with the published set."""

from types import SimpleNamespace

from markupsafe import Markup

from parkf.params.manifest import Gate
from parkf.proof.publishing import Decision
from parkf.report.overview import verdict_part


def test_the_first_screen_has_each_gate_once_the_nearest_ones_first():
    gates = [
        Gate(what=f"gate {i}", measured="x", bar="y", met=i < 15, value=1.0 + 0.01 * i, at_most=1.15)
        for i in range(17)
    ]
    bins = [
        {
            "p_min": low,
            "p_max": high,
            "n": n,
            "core": 0.004,
            "core_error": 1e-4,
            "bias": 0.0,
            "bias_error": 0.0,
        }
        for low, high, n in ((2, 5, 1000), (5, 20, 200), (20, 50, 30), (50, 100, 4000))
    ]
    pulls = {name: {"width": 1.0, "width_error": 0.1} for name in ("x", "y", "tx", "ty", "qop")}
    fit = {"momentum": bins, "pulls": pulls, "roc": [{"genuine": 0.9, "ghost": 0.3}]}
    figure = {"figure": "bias", "p_min": 5, "p_max": 10, "tx": 1, "bend": -1, "n": 90, "own": 1e-4}
    figure |= {"published": -21e-4, "error": 1e-5, "worse": 2e-3, "worse_error": 1e-5}
    own = SimpleNamespace(
        name="run",
        run=None,
        # The decision looks at two more, those of the trigger.
        gates=gates[:-2],
        validation={"fits": {"parkf": fit}},
        beside={
            "version": "r016",
            "fit": None,
            "paired": {"figures": [figure]},
            "answer": {"sentence": "Keep r016."},
        },
        identity=None,
        manifest=SimpleNamespace(configuration=None),
    )
    shown = verdict_part(own, None, Decision(gates, {}, ()))
    assert shown["told"]["run"] == "15 gates: 15 met, 0 missed, 0 not measured"
    assert shown["told"]["client"].startswith("2 gates: 0 met, ")
    assert shown["answer"]["sentence"] == "Keep r016."
    ((what, where, count, *values, worse),) = shown["paired"].rows
    assert (what, where, count) == ("mean of δp/p", "5–10 GeV, tx > 0, bent to −x", "90")
    assert [Markup(one).striptags() for one in values] == ["+0.010 %", "−0.210 %"]
    assert Markup(worse).striptags() == "+0.200 ± 0.001 %"
    assert worse.startswith('<span class="bad"><data value="0.2" data-error="0.001">')
    names = {part: [row[0] for row in cells.rows] for part, cells in shown["gate_tables"].items()}
    assert names["missed"] == ["gate 16", "gate 15"]
    assert names["close"] == [f"gate {i}" for i in range(14, 4, -1)]
    assert sorted(names["rest"]) == [f"gate {i}" for i in range(5)]
