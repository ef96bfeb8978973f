"""The decision whether a set may be published: its reasons, and the command."""

from pathlib import Path

from parkf.params.manifest import Gate
from parkf.proof.publishing import Decision


def gate(what, value, at_most, *, met):
    measured = "not measured" if value is None else f"{value:g}"
    return Gate(what=what, measured=measured, bar=f"≤ {at_most:g}", met=met, value=value, at_most=at_most)


GOOD = gate("width", 0.9, 1.0, met=True)


def decision(*gates, replaces=None, problems=()):
    return Decision(gates, replaces or {}, problems)


def test_a_set_that_meets_all_gates_may_be_published():
    one = decision(GOOD, replaces={"r001": []})
    assert one.reasons == []
    assert one.command(Path("results/a/set")) == "parkf params publish results/a/set"


def test_a_gate_is_missed_or_not_measured_never_both():
    """A figure within its bar whose gate is not met has too large an error, or too few bins."""
    beyond, nothing, few = (
        gate("core", 1.1, 1.0, met=False),
        gate("bias", None, 1.0, met=False),
        gate("pull", 0.9, 1.0, met=False),
    )
    one = decision(GOOD, beyond, nothing, few)
    assert (one.missed, one.unmeasured) == ([beyond], [nothing, few])
    assert one.reasons == [
        "gate missed: core: 1.1 (bar ≤ 1)",
        "not measured: bias (bar ≤ 1)",
        "not measured: pull (bar ≤ 1)",
    ]


def test_a_set_of_less_is_refused_until_the_command_names_what_it_replaces():
    less = "events.training 1,000 instead of 10,000"
    one = decision(GOOD, replaces={"r001": [less], "r002": []}, problems=["published already"])
    assert one.reasons == [f"it would replace r001, with {less}", "published already"]
    assert one.command(Path("set")) == "parkf params publish set --supersede r001"
