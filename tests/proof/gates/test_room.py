"""The distances of figures from their gates' bars."""

import pytest

from parkf.params.manifest import Gate
from parkf.proof.gates.room import nearest, room
from parkf.report.tables import gates


def gate(value, *, least=None, most=None, what="a", met=None):
    inside = value is not None and (least is None or value >= least) and (most is None or value <= most)
    met = inside if met is None else met
    return Gate(what=what, measured="", bar="", met=met, value=value, at_least=least, at_most=most)


@pytest.mark.parametrize(
    ("one", "left", "shade"),
    [
        # The room in an interval is a fraction of its half width: 0.03 of 0.05 is left.
        (gate(1.02, least=0.95, most=1.05), 0.6, "good"),
        (gate(1.046, least=0.95, most=1.05), 0.08, "near"),
        (gate(0.94, least=0.95, most=1.05), -0.2, "bad"),
        (gate(0.5, most=1.0), 0.5, "good"),
        (gate(0.95, most=1.0), 0.05, "near"),
        (gate(2.0, most=1.0), -1.0, "bad"),
        (gate(0.95, least=0.9), 0.0556, "near"),
        (gate(None, most=1.0), None, "unknown"),
        # What has been compared has no number.
        (gate(None, met=True), None, "good"),
        # A gate with too few figures fails, even if its figure is good.
        (gate(0.5, most=1.0, met=False), 0.5, "unknown"),
    ],
)
def test_room_and_colour(one, left, shade):
    assert room(one) == (None if left is None else pytest.approx(left, abs=1e-4))
    ((*_, verdict, _),) = gates([one]).rows
    assert verdict.startswith(f'<span class="{shade}">')


def test_missed_gates_come_first_then_the_nearest():
    several = [
        gate(None, met=True, what="compared"),
        gate(0.2, most=1.0, what="far"),
        gate(0.99, most=1.0, what="near"),
        gate(3.0, most=1.0, what="missed"),
        gate(None, most=1.0, what="unmeasured"),
    ]
    assert [one.what for one in nearest(several)] == ["unmeasured", "missed", "near", "far", "compared"]
