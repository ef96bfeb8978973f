"""The page of other kinds of tracks than long ones with all detectors."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from parkf.io.kinds import KINDS
from parkf.report.drawing import Drawn, Panel, Series
from parkf.report.electrons import electron_section
from parkf.report.figures import COMPONENTS, error_bars
from parkf.report.maps import bias_map
from parkf.report.tables import Cells, Columns, interval, table_of, with_error
from parkf.simulation.generate.decays import DECAYS

_TITLES = {"long_no_ut": "Long tracks without UT hits", "scifi": "SciFi tracks"}
_MEANINGS = {"long_no_ut": "The candidates of the validation, without their UT hits"}
_ERRORS = 3  # standard errors that a bias must exceed to count
# % of bias at which the colour of a map is full: of kinds that the whole bend measures, and of others.
_SPAN, _WIDE_SPAN = 0.4, 10.0


def kinds_page(kinds: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of ``kinds.html`` from ``kinds`` of ``validation.json``."""
    return {
        "kinds": [
            {
                "title": _TITLES.get(name, f"{name.capitalize()} tracks"),
                "meaning": _MEANINGS.get(name) or KINDS[name].meaning,
                "anchor": name,
                "figure": _draw(name, figures["momentum"]),
                "table": _table(figures["momentum"]),
                "map": bias_map(figures["directions"], "bias of δp/p", _span(name), _ERRORS)
                if figures["directions"]
                else None,
                "decays": _decays(figures.get("decays") or {}),
                "search": _search(figures.get("search")),
            }
            for name, of_kind in kinds.items()
            if (figures := of_kind.get("fit") or of_kind).get("momentum")
        ],
        "errors": _ERRORS,
        "electrons": electron_section(kinds.get("electron", {})),
    }


def _span(name: str) -> float:
    kind = KINDS.get(name)
    return _SPAN if kind is None or (kind.scifi and (kind.velo or kind.ut)) else _WIDE_SPAN


def _draw(name: str, bins: Sequence[Mapping[str, Any]]) -> Drawn:
    places, names = range(len(bins)), [interval(one) for one in bins]
    pulls = [
        Series(
            f"pull of {text}",
            places,
            [one["pulls"][component]["width"] for one in bins],
            shape="joined",
            colour=number,
        )
        for number, (component, text) in enumerate(COMPONENTS.items())
    ]
    core = [error_bars("core of δp/p", places, bins, "core", 0, 100)]
    bias = [error_bars("bias of δp/p", places, bins, "bias", 0, 100)]
    return Drawn(
        f"kind-{name}",
        f"{name}: resolution, bias and pulls by momentum [GeV]",
        [
            Panel("", "core width of δp/p [%]", core, names=names, y_limits=(0.0, None)),
            Panel("", "bias of δp/p [%]", bias, names=names),
            Panel("", "pull width", pulls, names=names, band=(0.95, 1.05)),
        ],
        small=True,
    )


def _table(bins: Sequence[Mapping[str, Any]]) -> Cells:
    columns: Columns = {
        "p [GeV]": interval,
        "tracks": lambda one: str(one["n"]),
        "core of δp/p [%]": lambda one: with_error(one, "core", ".3f", 100),
        "over the full fit's": lambda one: (
            with_error(one, "core_over_full", ".3f") if "core_over_full" in one else "–"
        ),
        "bias of q/p [%]": lambda one: with_error(one, "qop_bias", "+.3f", 100) if "qop_bias" in one else "–",
        **{f"pull {text}": partial(_pull, component) for component, text in COMPONENTS.items()},
    }
    return table_of(bins, columns)


def _pull(component: str, one: Mapping[str, Any]) -> str:
    return with_error(one["pulls"][component], "width", ".3f")


def _decays(decays: Mapping[str, Any]) -> Cells | None:
    rows = [{"decay": name, **figures} for name, figures in decays.items() if figures]
    if not rows:
        return None
    columns: Columns = {
        "decay": lambda one: DECAYS[one["decay"]].title,
        "pairs": lambda one: str(one["n"]),
        "mass less the nominal [MeV]": lambda one: with_error(one, "mean", "+.2f"),
        "core width [MeV]": lambda one: with_error(one, "width", ".2f"),
        "over the full fit's": lambda one: with_error(one, "width_over_full", ".3f"),
        "seed's over it": lambda one: with_error(one, "seed_over_width", ".2f"),
        "vertex, z [mm]": lambda one: with_error(one["vertex"], "width", ".1f"),
        "its pull": lambda one: with_error(one["vertex"], "pull_width", ".3f"),
    }
    return table_of(rows, columns, text=("decay",))


def _search(found: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if not found:
        return None
    columns: Columns = {
        "p [GeV]": interval,
        "particles": lambda one: str(one["n"]),
        "found [%]": lambda one: with_error(one, "efficiency", ".1f", 100),
    }
    return {
        "candidates": found["candidates"],
        "ghosts": with_error(found, "ghosts", ".1f", 100),
        "cut": found["chi2"]["working_point"] if "chi2" in found else None,
        "table": table_of(found["efficiency"], columns),
    }
