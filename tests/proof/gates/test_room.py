"""The distances of figures from their gates' bars, and the traffic lights of the steps."""

import pytest

from parkf.params.manifest import Gate
from parkf.proof.gates.room import NEAR, colour, nearest, room, step_light
from parkf.proof.gates.thresholds import Threshold, Thresholds


def gate(value, *, least=None, most=None, what="a", met=None):
    inside = value is not None and (least is None or value >= least) and (most is None or value <= most)
    met = inside if met is None else met
    return Gate(what=what, measured="", bar="", met=met, value=value, at_least=least, at_most=most)


@pytest.mark.parametrize(
    ("one", "left", "shade"),
    [
        # The room in an interval is a fraction of its half width: 0.03 of 0.05 is left.
        (gate(1.02, least=0.95, most=1.05), 0.6, "green"),
        (gate(1.046, least=0.95, most=1.05), 0.08, "amber"),
        (gate(0.94, least=0.95, most=1.05), -0.2, "red"),
        (gate(0.5, most=1.0), 0.5, "green"),
        (gate(0.95, most=1.0), 0.05, "amber"),
        (gate(2.0, most=1.0), -1.0, "red"),
        (gate(0.95, least=0.9), 0.0556, "amber"),
        (gate(None, most=1.0), None, "red"),
        # What has been compared has no number.
        (gate(None, met=True), None, "green"),
        # A gate with too few figures fails, even if its figure is good.
        (gate(0.5, most=1.0, met=False), 0.5, "red"),
    ],
)
def test_room_and_colour(one, left, shade):
    assert room(one) == (None if left is None else pytest.approx(left, abs=1e-4))
    assert colour(one) == shade


def test_missed_gates_come_first_then_the_nearest():
    gates = [
        gate(None, met=True, what="compared"),
        gate(0.2, most=1.0, what="far"),
        gate(0.99, most=1.0, what="near"),
        gate(3.0, most=1.0, what="missed"),
        gate(None, most=1.0, what="unmeasured"),
    ]
    assert [one.what for one in nearest(gates)] == ["unmeasured", "missed", "near", "far", "compared"]


@pytest.fixture
def thresholds():
    def one(name, figure):
        return Threshold(gate=name, figure=f"accuracy.json: {figure}", at_most=1.0, reason="r")

    return Thresholds(
        gates=[
            one("VELO", "steps/V.*/*/ratio_rms"),
            one("UT", "steps/VUT|UT.*/*[p_min>=3]/ratio_rms"),
            one("stations", "steps/T.gap3|T.gap7/*/ratio_rms"),
            one("gaps", "steps/T.gap0|T.gap1/*/ratio_rms"),
            one("table", "table/fiducial[component=x]/q68"),
            one("hop", "steps/UTTF/*/ratio_rms"),
        ]
    )


@pytest.mark.parametrize(
    ("step", "decides", "shade"),
    [
        ("V", "VELO", "green"),
        ("VUT", "UT", "amber"),
        ("UT", "UT", "amber"),
        ("T", "stations", "red"),
        ("UTTF", "table", "amber"),
        ("BEAM", None, "none"),
    ],
)
def test_a_step_has_the_light_of_its_worst_gate(thresholds, step, decides, shade):
    values = {"VELO": 0.1, "UT": 1 - NEAR / 2, "stations": 1.2, "gaps": 0.2, "table": 0.97, "hop": 0.1}
    gates = [gate(value, most=1.0, what=name) for name, value in values.items()]
    light = step_light(step, gates, thresholds)
    assert light.colour == shade
    assert (light.gate.what if light.gate else None) == decides
    assert (decides or "no gate") in light.reason
