"""One copy of what the jobs of a rule have alike, since Snakemake holds all jobs of a run in memory.

Snakemake makes the lists of a job (input, output, parameters, log, resources) anew for each job. Most of what
a list holds is that of the rule's job before it: names and their places, files of the detector or of the set,
flags of files, resources, and sometimes the whole list. Nothing changes these lists later; a list is made
again where a job is tried again. The exception is a job whose output is marked ``update``: no rule of parkf
has one.
"""

from collections.abc import Callable
from functools import wraps
from operator import is_
from typing import Any

from snakemake.io import AnnotatedString, _IOFile

_LISTS = ("input", "output", "params", "log", "resources")


def hold_once(rule: Any) -> None:
    """Let the jobs of a rule share what their lists have alike."""
    for name in _LISTS:
        expand = f"expand_{name}"
        setattr(rule, expand, _sharing(getattr(rule, expand)))


def _sharing(expand: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a method that makes a list for a job, or a tuple that begins with the list."""
    last: Any = None

    @wraps(expand)
    def expand_and_share(*arguments: Any, **options: Any) -> Any:
        nonlocal last
        made = expand(*arguments, **options)
        items = made[0] if isinstance(made, tuple) else made
        last = items if last is None else _shared(items, last)
        return (last, *made[1:]) if isinstance(made, tuple) else last

    return expand_and_share


def _shared(items: Any, before: Any) -> Any:
    """Return one of Snakemake's lists with the parts that another one has, too, or the other one itself."""
    for place, (one, other) in enumerate(zip(items, before, strict=False)):
        items[place] = _shared_item(one, other)
    if items._names != before._names:
        return items
    if len(items) == len(before) and all(map(is_, items, before)):
        return before
    if not items._names:
        # Only the files differ.
        items.__dict__ = vars(before)
        return items
    named = {
        name: items[start] if end is None else _shared(getattr(items, name), getattr(before, name))
        for name, (start, end) in items._names.items()
    }
    vars(items).update(vars(before) | named)
    return items


def _shared_item(one: Any, other: Any) -> Any:
    """Return the other item if it is equal; otherwise let a file have its flags, if these are equal."""
    if type(one) is not type(other):
        return one
    # A file in a storage has an object of its own for each job.
    if isinstance(one, _IOFile) and (one.flags != other.flags or one.is_storage):
        return one
    if one == other:
        return other
    if isinstance(one, _IOFile):
        path, like = one._file, other._file
        # A plain text has no flags.
        if type(path) is type(like) is AnnotatedString and vars(path) == vars(like):
            path.__dict__ = vars(like)
    return one
