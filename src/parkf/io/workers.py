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
from itertools import islice
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar

from parkf.io.errors import ParkfError

Item = TypeVar("Item")
Result = TypeVar("Result")

# Largest number of items for each worker that are begun before the first of them is fetched.
_AHEAD = 4


def default_workers() -> int:
    """Count the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def forked_map(
    function: Callable[[Item], Result], items: Iterable[Item], workers: int | None = None
) -> Iterator[Result]:
    """Yield ``function(item)`` for every item, in order, each computed in its own child.

    `function` may read everything in the parent's memory; its result must pickle. Items are read one at a
    time, as children become free. At most `workers` children run at a time, by default one for each core. A
    ParkfError or OSError is the one that `function` raised. Another ParkfError reports a child that died, or
    failed with a traceback.
    """
    workers = workers or default_workers()
    remaining = iter(items)
    # Children in the order of the items. Results wait here behind a slow child; a limit saves memory.
    children: deque[_Child] = deque()
    try:
        while True:
            running = [child for child in children if child.answer is None]
            for item in islice(remaining, min(workers - len(running), _AHEAD * workers - len(children))):
                children.append(_Child(function, item))
                running.append(children[-1])
            if not children:
                return
            if children[0].answer is None:
                ready = wait([child.receiver for child in running])
                for child in running:
                    if child.receiver in ready:
                        child.receive()
            else:
                succeeded, value = children[0].answer
                children.popleft()
                if not succeeded:
                    raise value
                yield value
    finally:
        for child in children:
            if child.answer is None:
                child.stop()


def parallel_map(
    function: Callable[[Item], Result], items: Iterable[Item], workers: int | None = None
) -> Iterator[Result]:
    """Yield as :func:`forked_map`, with one worker in this process; for functions without side effects."""
    if (workers or default_workers()) == 1:
        return map(function, items)
    return forked_map(function, items, workers)


class _Child:
    """A process that computes the result of one item."""

    def __init__(self, function: Callable[[Any], Any], item: Any) -> None:
        context = get_context("fork")
        self.receiver, sender = context.Pipe(duplex=False)
        self._process = context.Process(target=_run, args=(function, item, sender), daemon=True)
        # Whether the child succeeded, and its result or the error to raise; None while it runs.
        self.answer: tuple[bool, Any] | None = None
        # Flush the buffers, because the child would print their text a second time.
        sys.stdout.flush()
        sys.stderr.flush()
        self._process.start()
        sender.close()

    def receive(self) -> None:
        try:
            self.answer = self.receiver.recv()
            self._process.join()
        except EOFError:
            self._process.join()
            problem = (
                f"a parallel chunk died with exit code {self._process.exitcode} (negative: killed by that "
                "signal, -9 mostly for lack of memory), expected 0; run with fewer workers, --threads 1"
            )
            self.answer = (False, ParkfError(problem))
        finally:
            self.receiver.close()

    def stop(self) -> None:
        self._process.terminate()
        self._process.join()
        self.receiver.close()


def _run(function: Callable[[Any], Any], item: Any, sender: Connection) -> None:
    try:
        answer = (True, function(item))
    except (ParkfError, OSError) as error:
        answer = (False, error)
    except MemoryError as error:
        answer = (False, MemoryError(str(error)))
    except Exception:
        answer = (False, ParkfError(f"a parallel chunk failed:\n{traceback.format_exc()}"))
    sender.send(answer)
    sender.close()
