"""The plan of a realignment: which parts of a set move by how much; and their training on carried rows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain, groupby
from typing import Any

import numpy as np

from parkf.detector.field import FieldMap
from parkf.io.errors import ParkfError
from parkf.io.events import select
from parkf.io.terminal import aligned
from parkf.io.workers import parallel_map
from parkf.model.codegen.numpy_step import numpy_step
from parkf.training.realign import LARGEST_SHIFT
from parkf.training.realign.carrying import NO_PLANE, carry_rows, find_planes, moved_planes
from parkf.training.realign.parts import Part
from parkf.training.realign.response import Response, measure_response
from parkf.training.result import FitResult, SetResult
from parkf.training.rich import RichFit
from parkf.training.rows import F64, Rows

_ERRORS = 2.0  # of a response, that are added to it


@dataclass(frozen=True)
class Planned:
    """A part, the response of its fit, and the planes of its rows that have moved; None where none has."""

    part: Part
    response: Response | None
    planes: Sequence[int]

    @property
    def is_trained(self) -> bool:
        """Whether its numbers may move too far."""
        one = self.response
        return one is not None and one.shift + _ERRORS * one.error > LARGEST_SHIFT

    @property
    def why(self) -> str:
        """Say why the part is trained or kept."""
        if self.response is None:
            return "its planes and its field are the same"
        if self.is_trained:
            return f"its rows change by {self.response.misfit:.2g} of the scattering"
        return f"no number moves by more than {LARGEST_SHIFT:g} errors"


def plan(
    parts: Sequence[Part],
    before: F64,
    after: F64,
    field: FieldMap,
    *,
    other_field: bool = False,
    threads: int = 1,
) -> list[Planned]:
    """Find how far the numbers of each part move from the planes `before` to those `after`, (70, 3) each.

    With `other_field`, `field` is another one than that of the rows. A ParkfError reports rows that begin in
    no plane: they are of another detector.
    """
    carried = partial(
        carry_rows, before=before, after=after, field=field, everything=other_field, threads=threads
    )
    moved = moved_planes(before, after)

    def planned(part: Part) -> Planned:
        old = part.sample()
        if not old:
            return Planned(part, None, ())
        begins, ends = (find_planes(part.shaped(old), end, before) for end in "01")
        if (begins == NO_PLANE).all():
            raise ParkfError(
                f"{part.path}: rows of {part.name} begin in no plane of the set's detector, expected those of"
                " its run: train the whole set for the new detector"
            )
        planes = sorted({*begins[moved[begins]].tolist(), *ends[moved[ends]].tolist()})
        if not planes and not other_field:
            return Planned(part, None, ())
        new = part.shaped(carried(old))
        old = part.shaped(old)
        # Rows that left the field map are in neither.
        old, new = (select(one, np.isin(one["row"], other["row"])) for one, other in ((old, new), (new, old)))
        return Planned(part, measure_response(numpy_step(part.step), part.fitted, old, new), planes)

    return [planned(part) for part in parts]


def retrain(
    planned: Sequence[Planned],
    before: F64,
    after: F64,
    field: FieldMap,
    *,
    note: str,
    displaced: list[Rows] | None,
    threads: int = 1,
) -> dict[str, SetResult]:
    """Train the parts that move too far on their rows, carried to other planes; return results by name.

    Each result has the `note`. `displaced` are rows for steps that need them, see
    :func:`parkf.training.train.train_step`. The result does not depend on `threads`.
    """
    carried = partial(carry_rows, before=before, after=after, field=field)

    def trained(parts: Sequence[Part]) -> list[tuple[str, SetResult]]:
        results = [(part.name, part.trained(carried, displaced)) for part in parts]
        return [
            (name, one.model_copy(update={"note": "; ".join(filter(None, (one.note, note)))}))
            for name, one in results
        ]

    chosen = [one.part for one in planned if one.is_trained]
    # A process trains several parts, because it compiles the formulas of a step once.
    shares = [chosen[first::threads] for first in range(min(threads, len(chosen)))]
    found = dict(chain.from_iterable(parallel_map(trained, shares, threads)))
    return {part.name: found[part.name] for part in chosen}


def with_trained(
    results: Mapping[str, FitResult], rich: RichFit, trained: Mapping[str, SetResult]
) -> tuple[dict[str, FitResult], RichFit]:
    """Return all fits, with the trained parts in their places."""

    def now(step: str, sets: Iterable[SetResult]) -> list[SetResult]:
        return [trained.get(f"{step} {one.label}", one) for one in sets]

    steps = {name: one.model_copy(update={"sets": now(name, one.sets)}) for name, one in results.items()}
    return steps, rich.model_copy(
        update={"sets": {name: now(name, sets) for name, sets in rich.sets.items()}}
    )


def described(planned: Iterable[Planned]) -> list[dict[str, Any]]:
    """Describe a plan for JSON: part, planes that moved, response (or null), whether trained, why."""
    return [
        {
            "part": one.part.name,
            "planes": list(one.planes),
            "response": one.response and asdict(one.response),
            "trained": one.is_trained,
            "why": one.why,
        }
        for one in planned
    ]


def plan_table(planned: Iterable[Planned], *, everything: bool = False) -> str:
    """Write a plan as a table; neighbouring parts of a step with the same fate share a row.

    With `everything`, the whole set is trained, whatever its parts need.
    """
    rows = []
    for (step, is_trained, _), group in groupby(
        planned, lambda one: (one.part.step.name, one.is_trained, one.response is None)
    ):
        members = list(group)
        labels = [one.part.step.sets[one.part.number] for one in members]
        most = max(members, key=lambda one: one.response.shift if one.response else 0.0)
        shift = (
            f"{most.response.shift:.2f} ± {most.response.error:.2f} ({most.response.number})"
            if most.response
            else "0"
        )
        span = labels[0] if len(labels) == 1 else f"{labels[0]} … {labels[-1]}"
        rows.append((step, span, shift, "trained anew" if is_trained or everything else "kept", most.why))
    return aligned(("step", "sets", "largest shift, σ", "", "why"), rows)
