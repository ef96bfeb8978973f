"""``parkf params for`` and ``validity``."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from parkf.cli.commands.params.common import (
    NO,
    NO_ANSWER,
    Json,
    RegistryFolder,
    exit_on_error,
    registry_in,
    say,
)
from parkf.io.option_types import FormsName
from parkf.io.terminal import aligned

if TYPE_CHECKING:
    from parkf.params.registry import Registry
    from parkf.params.validity import Interval, Moment, Series

Detector = Annotated[str | None, typer.Option(help="Only of this tag of a geometry.", show_default=False)]
Forms = Annotated[FormsName | None, typer.Option(help="Only of these forms.", show_default=False)]
_COLUMNS = ("detector", "forms", "set", "validity", "superseded", "path")


def for_(
    data: Annotated[str, typer.Argument(metavar="RUN", help="A run's number, or a time: 2026-05-03T12:00Z.")],
    detector: Detector = None,
    forms: Forms = None,
    registry: RegistryFolder = None,
    as_json: Json = False,
) -> None:
    """Say which published set holds for a run or a time: one for each detector and set of forms.

    Withdrawn sets do not count, and a set holds instead of those that it superseded. Exits with 1 where there
    is no set, and with 2 where it is not clear which one holds.
    """
    from parkf.params.best_for import series_of
    from parkf.params.validity import Moment

    with exit_on_error(NO_ANSWER):
        moment = Moment.parse(data)
        sets = registry_in(registry)
        found = series_of(sets, detector=detector, forms=forms)
        rows = [
            {"detector": tag, "forms": form, **_answer(sets, f"{tag}, {form}", series, moment)}
            for (tag, form), series in found.items()
        ]

    def text() -> str:
        if not rows:
            return f"{sets.folder}: no published sets"
        told = ({"set": row["set"] or "none", "superseded": ", ".join(row["superseded"])} for row in rows)
        shown = [{**row, **more} for row, more in zip(rows, told, strict=True)]
        return aligned(_COLUMNS, [[row[c] for c in _COLUMNS] for row in shown])

    say(as_json, rows, text)
    if not any(row["set"] for row in rows):
        raise typer.Exit(NO)


def _answer(sets: "Registry", kind: str, series: "Series", moment: "Moment") -> dict[str, Any]:
    from parkf.io.errors import ParkfError

    try:
        found = series.at(moment)
    except ParkfError as error:
        raise ParkfError(f"{sets.folder}: {kind}: {error}") from error
    if not found.holding:
        return {"set": None, "validity": None, "superseded": [], "path": None}
    version, *others = found.holding
    if others:
        raise ParkfError(
            f"{sets.folder}: {kind}: {' and '.join(found.holding)} are both for {moment.unit} {moment}, and "
            "neither superseded the other; withdraw one"
        )
    # Load the set to make sure that it is not broken; a broken set cannot hold.
    sets.load(version)
    return {
        "set": version,
        "validity": str(series.interval(version)),
        "superseded": [one for one in found.versions if one != version],
        "path": str(sets.path(version)),
    }


def validity(
    detector: Detector = None,
    forms: Forms = None,
    registry: RegistryFolder = None,
    as_json: Json = False,
) -> None:
    """Show what data each published set holds for; exits with 1 where there are gaps, or several sets hold.

    Where a later set is for data of one that it superseded, it holds; that is said, and no mistake.
    """
    from parkf.params.best_for import series_of

    with exit_on_error(NO_ANSWER):
        sets = registry_in(registry)
        found = series_of(sets, detector=detector, forms=forms)
    content = [
        {"detector": tag, "forms": form, **_described(series)} for (tag, form), series in found.items()
    ]

    def text() -> str:
        return "\n\n".join(map(_text, content)) or f"{sets.folder}: no published sets"

    say(as_json, content, text)
    if any(one["gaps"] or one["unclear"] for one in content):
        raise typer.Exit(NO)


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
