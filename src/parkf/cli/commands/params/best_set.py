"""``parkf params for`` and ``validity``."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from parkf.cli.commands.answers import NO_ANSWER, answer, exit_on_error, rows_or
from parkf.cli.commands.options import Json, RegistryFolder, registry_in
from parkf.io.option_types import FormsName

if TYPE_CHECKING:
    from parkf.params.validity import Interval, Series

OfDetector = Annotated[str | None, typer.Option(help="Only of this tag of a geometry.", show_default=False)]
OfForms = Annotated[FormsName | None, typer.Option(help="Only of these forms.", show_default=False)]


def for_(
    data: Annotated[str, typer.Argument(metavar="RUN", help="A run's number, or a time: 2026-05-03T12:00Z.")],
    detector: OfDetector = None,
    forms: OfForms = None,
    registry: RegistryFolder = None,
    as_json: Json = False,
) -> None:
    """Name the published set for a run or a time: one for each detector and set of forms.

    Withdrawn sets do not count. Where several sets are for the data, the newest of them is named. Exits with
    1 where there is no set, and with 2 where it is not clear which one to use.
    """
    from parkf.params.validity import Moment

    with exit_on_error(NO_ANSWER):
        sets = registry_in(registry)
        found = sets.best_sets(Moment.parse(data), detector=detector, forms=forms)

    def text() -> str:
        columns = ("detector", "forms", "set", "validity", "superseded", "path")
        shown = [
            row | {"set": row["set"] or "none", "superseded": ", ".join(row["superseded"])} for row in found
        ]
        return rows_or(f"{sets.folder}: no published sets", columns, shown)

    answer(as_json, found, text, yes=any(row["set"] for row in found))


def validity(
    detector: OfDetector = None,
    forms: OfForms = None,
    registry: RegistryFolder = None,
    as_json: Json = False,
) -> None:
    """Show what data each published set is for; exits with 1 where there are gaps, or several sets compete.

    Where a set and one that it superseded are for the same data, the newer one counts. This overlap is shown,
    and is no mistake.
    """
    with exit_on_error(NO_ANSWER):
        sets = registry_in(registry)
        found = sets.series(detector=detector, forms=forms)
    content = [
        {"detector": tag, "forms": form, **_described(series)} for (tag, form), series in found.items()
    ]
    answer(
        as_json,
        content,
        lambda: "\n\n".join(map(_text, content)) or f"{sets.folder}: no published sets",
        yes=not any(one["gaps"] or one["unclear"] for one in content),
    )


def _described(series: "Series") -> dict[str, Any]:
    from parkf.params.validity import joined

    overlaps = series.overlaps()
    return {
        "unit": series.unit,
        "holding": [
            {**_limits(one.interval), "set": one.holding[0]}
            for one in joined(series.stretches())
            if len(one.holding) == 1
        ],
        "gaps": [_limits(gap) for gap in series.gaps()],
        "superseded": [
            {**_limits(one.interval), "sets": list(one.versions)} for one in overlaps if len(one.holding) == 1
        ],
        "unclear": [
            {**_limits(one.interval), "sets": list(one.holding)} for one in overlaps if len(one.holding) > 1
        ],
    }


def _limits(interval: "Interval") -> dict[str, Any]:
    from parkf.params.validity import shown

    def limit(value: int | None) -> int | str | None:
        if value is None or interval.unit is None:
            return None
        return value if interval.unit == "run" else shown(interval.unit, value)

    return {"first": limit(interval.first), "last": limit(interval.last), "data": str(interval)}


def _text(content: dict[str, Any]) -> str:
    lines = [f"{content['detector']}, {content['forms']}"]
    lines += [f"  {one['set']} holds for {one['data']}" for one in content["holding"]]
    lines += [f"  gap: no set is for {one['data']}" for one in content["gaps"]]
    lines += [
        f"  overlap: {', '.join(one['sets'])} are for {one['data']}; the newest holds"
        for one in content["superseded"]
    ]
    lines += [
        f"  OVERLAP: {' and '.join(one['sets'])} are for {one['data']}, and neither superseded the other"
        for one in content["unclear"]
    ]
    return "\n".join(lines)
