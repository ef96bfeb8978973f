"""Items that a second thread computes while this one works on those before them."""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")

# Items that wait: enough that neither thread waits for long, and little memory.
_WAITING = 8
_END = object()


def ahead(items: Iterator[Item]) -> Iterator[Item]:
    """Yield the items in their order; an exception while one is computed is raised in its place."""
    with ThreadPoolExecutor(1) as pool:
        waiting = deque(pool.submit(next, items, _END) for _ in range(_WAITING))
        while (item := waiting.popleft().result()) is not _END:
            waiting.append(pool.submit(next, items, _END))
            yield item  # type: ignore[misc]
