"""Ordered parallel map in which every item gets a freshly forked child.

A child starts with the parent's memory as it was when the map began. State that took seconds to set up (an
initialised Pythia) is therefore shared at no cost, and an item cannot influence another one: the results do
not depend on the number of children.
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
    """An item's child and, once it has ended, whether it succeeded, and its result or error."""

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
        May read everything in the parent's memory; its result must pickle.
    items : iterable
        Read one at a time, as children become free.
    workers : int, optional
        Number of children at a time; as many as cores by default.

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
    """Yield as :func:`forked_map`, with one worker in this process; for functions without side effects."""
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
