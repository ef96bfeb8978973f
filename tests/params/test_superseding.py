"""A set replaces others for the data of both, with their detector and statistics at least, or by name."""

import pytest

from parkf.io.errors import ParkfError
from parkf.params.manifest import Gate
from parkf.params.superseding import differences
from parkf.params.validity import Moment, validity_of

GATES = [Gate(what="ghosts", measured="25 %", bar="40 %", met=True)]
INPUTS = {"geometry": "a", "alignment": "b", "field": "c"}
TRAINING = {"events.training": "10000", "polarities": '["up", "down"]', "training.rays": "2097152"}
FIRST, SECOND, THIRD = (f"2026-run3-r{number:03}" for number in (1, 2, 3))


@pytest.fixture
def publish(made, sets):
    """Publish sets that differ in the beam line, and in what is given."""
    count = iter(range(1, 100))

    def act(inputs=(), training=(), supersede=(), **limits):
        configuration = None if training is None else TRAINING | dict(training)
        folder = made(next(count), inputs=INPUTS | dict(inputs), configuration=configuration)
        validity = validity_of(limits) if limits else None
        return sets.publish(folder, year=2026, gates=GATES, validity=validity, supersede=supersede)

    return act


def used(sets, run):
    (found,) = sets.best_sets(Moment.parse(str(run)))
    return found["set"]


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"training": {"events.training": "1000"}}, "events.training 1,000 instead of 10,000"),
        ({"training": {"polarities": '["up"]'}}, "polarities 1 instead of 2"),
        ({"training": None}, "events.training unknown instead of 10,000"),
        (
            {"inputs": {"field": "x"}, "training": {"events.training": "1"}},
            "another field, events.training 1 ",
        ),
    ],
)
def test_less_or_another_detector_needs_a_name(sets, publish, other, said):
    publish()
    with pytest.raises(
        ParkfError, match=rf"not published: for all data it would replace\n  {FIRST}, with {said}"
    ):
        publish(**other)
    assert sets.versions() == [FIRST]
    assert publish(**other, supersede=[FIRST]) == SECOND
    assert used(sets, 7) == SECOND


@pytest.mark.parametrize(
    "other", [{}, {"training": {"events.training": "20000"}}, {"inputs": {"table": "x"}}]
)
def test_as_much_of_the_same_detector_needs_none(sets, publish, other):
    publish()
    assert publish(**other) == SECOND
    assert used(sets, 7) == SECOND


def test_for_other_data_it_replaces_nothing(sets, publish):
    publish(last_run=100)
    assert publish({"alignment": "x"}, first_run=101) == SECOND
    assert (used(sets, 100), used(sets, 101)) == (FIRST, SECOND)


def test_of_several_all_are_named(sets, publish):
    publish(last_run=100)
    publish({"alignment": "x"}, first_run=101)
    with pytest.raises(
        ParkfError, match=rf"would replace\n  {FIRST}, with another alignment\n  {SECOND}, with"
    ):
        publish({"alignment": "y"}, first_run=50)
    with pytest.raises(ParkfError, match=rf"it would replace\n  {SECOND}, with another alignment"):
        publish({"alignment": "y"}, first_run=50, supersede=[FIRST])
    assert publish({"alignment": "y"}, first_run=50, supersede=[FIRST, SECOND]) == THIRD
    assert [used(sets, run) for run in (49, 50, 200)] == [FIRST, THIRD, THIRD]


def test_a_set_that_is_replaced_already_is_not_asked_about(sets, publish):
    publish({"alignment": "x"})
    publish(supersede=[FIRST])
    assert publish() == THIRD


@pytest.mark.parametrize("name", ["2026-run3-r009", "nonsense"])
def test_names_of_what_it_would_not_replace_are_refused(publish, name):
    publish()
    with pytest.raises(
        ParkfError, match=f"--supersede {name}: the new set would not replace it; .*: {FIRST}"
    ):
        publish(supersede=[name])


def test_a_withdrawn_set_is_not_replaced(sets, publish):
    sets.withdraw(publish(), "wrong field")
    assert publish({"field": "x"}, {"events.training": "1"}) == SECOND


def test_differences_are_none_between_equal_sets(parameters):
    assert differences(parameters.manifest, parameters.manifest) == []
