import errno
import os
import signal
from pathlib import Path

import pytest

from parkf.io.errors import DamagedFileError, ParkfError
from parkf.io.workers import forked_map


def test_results_come_in_order_for_any_number_of_workers():
    for workers in (1, 2, 5):
        assert list(forked_map(lambda item: item**2, range(12), workers)) == [item**2 for item in range(12)]


def test_every_item_sees_the_parent_as_it_was():
    state = [0]

    def count(_: int) -> int:
        state[0] += 1
        return state[0]

    assert list(forked_map(count, range(4), 2)) == [1, 1, 1, 1]


def test_large_results_do_not_block():
    assert [len(result) for result in forked_map(lambda _: b"x" * 3_000_000, range(4), 2)] == [3_000_000] * 4


def test_a_known_error_arrives_as_it_is():
    def fail(item: int) -> int:
        raise ParkfError(f"item {item} is bad")

    with pytest.raises(ParkfError, match="item 0 is bad"):
        list(forked_map(fail, range(4), 2))


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "no space"), DamagedFileError(Path("x"), "a file", "cut")]
)
def test_other_errors_that_commands_know_arrive_as_they_are(error):
    def fail(_: int) -> None:
        raise error

    with pytest.raises(type(error)) as found:
        list(forked_map(fail, range(4), 2))
    assert (found.value.args, vars(found.value)) == (error.args, vars(error))


def test_another_error_arrives_with_its_traceback():
    with pytest.raises(ParkfError, match="ZeroDivisionError"):
        list(forked_map(lambda item: 1 // item, range(4), 2))


def test_a_killed_child_is_an_error_and_not_a_hang():
    with pytest.raises(ParkfError, match="exit code -9"):
        list(forked_map(lambda item: os.kill(os.getpid(), signal.SIGKILL), range(2), 2))
