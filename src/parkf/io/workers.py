"""Ordered parallel map in which every item gets a freshly forked child.

A child starts from the parent's memory as it was when the map began. State that took seconds to set up (an
initialised Pythia) is therefore shared at no cost, and an item cannot influence another one: the results do
not depend on how many children run side by side.
"""

import os
import sys
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from typing import Any, TypeVar

from parkf.io.errors import ParkfError

Item = TypeVar("Item")
Result = TypeVar("Result")


# Largest number of items for each worker that are begun before the first of them is fetched.
_AHEAD = 4


@dataclass
class _Answer:
    """What an item's child has sent, once it has: whether it succeeded, and its result or error."""

    child: ForkProcess
    receiver: Connection
    value: tuple[bool, Any] | None = None


def default_workers() -> int:
    """Count the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def forked_map(
    function: Callable[[Item], Result], items: Iterable[Item], workers: int | None = None
) -> Iterator[Result]:
    """Yield ``function(item)`` for every item, in order, each computed in its own child.

    Parameters
    ----------
    function : callable
        May read anything the parent holds; its result must pickle.
    items : iterable
        Taken one at a time, as children come free.
    workers : int, optional
        Children at a time, all cores by default.

    Raises
    ------
    ParkfError
        As raised by `function`, or when a child dies or fails otherwise (with the child's traceback).
    """
    workers = workers or default_workers()
    context = get_context("fork")
    # Answers in the order of the items. Those behind a slow one wait here; their number is limited to save
    # memory.
    answers: deque[_Answer] = deque()
    source = iter(items)
    exhausted = False
    try:
        while True:
            running = [answer for answer in answers if answer.value is None]
            while not exhausted and len(running) < workers and len(answers) < _AHEAD * workers:
                try:
                    item = next(source)
                except StopIteration:
                    exhausted = True
                    break
                receiver, sender = context.Pipe(duplex=False)
                child = context.Process(target=_run, args=(function, item, sender), daemon=True)
                # Text still in the buffers would be printed a second time by the child.
                sys.stdout.flush()
                sys.stderr.flush()
                child.start()
                sender.close()
                answers.append(_Answer(child, receiver))
                running.append(answers[-1])
            if not answers:
                return
            if answers[0].value is None:
                ready = wait([answer.receiver for answer in running])
                for answer in running:
                    if answer.receiver in ready:
                        answer.value = _received(answer.child, answer.receiver)
            else:
                succeeded, value = answers[0].value
                answers.popleft()
                if not succeeded:
                    raise value
                yield value
    finally:
        for answer in answers:
            if answer.value is None:
                answer.child.terminate()
                answer.child.join()
                answer.receiver.close()


def parallel_map(
    function: Callable[[Item], Result], items: Iterable[Item], workers: int | None = None
) -> Iterator[Result]:
    """Yield as :func:`forked_map`; one worker does without a child.

    For functions that leave nothing behind; parameters and errors are the same.
    """
    if (workers or default_workers()) == 1:
        return map(function, items)
    return forked_map(function, items, workers)


def _run(function: Callable[[Any], Any], item: Any, sender: Connection) -> None:
    try:
        answer = (True, function(item))
    except ParkfError as error:
        answer = (False, error)
    except Exception:
        answer = (False, ParkfError(f"a parallel chunk failed:\n{traceback.format_exc()}"))
    sender.send(answer)
    sender.close()


def _received(child: ForkProcess, receiver: Connection) -> tuple[bool, Any]:
    """Wait for a child's answer: whether it succeeded, and its result or the error to raise."""
    try:
        answer: tuple[bool, Any] = receiver.recv()
    except EOFError:
        child.join()
        problem = (
            f"a parallel chunk died with exit code {child.exitcode} (negative: killed by that signal, -9 "
            "mostly for lack of memory); run with fewer workers"
        )
        answer = (False, ParkfError(problem))
    finally:
        receiver.close()
    child.join()
    return answer
