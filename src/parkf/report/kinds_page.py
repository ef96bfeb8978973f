"""The page of other kinds of tracks than long ones with all detectors, and of electrons."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from parkf.io.kinds import KINDS
from parkf.report.drawing import Drawn, Panel, Series
from parkf.report.figures import COMPONENTS
from parkf.report.maps import ERRORS, SPAN, bias_maps
from parkf.report.tables import Cells, Columns, interval, table_of, with_error
from parkf.simulation.generate.decays import DECAYS

Figures = Mapping[str, Any]

_TITLES = {"long_no_ut": "Long tracks without UT hits", "scifi": "SciFi tracks"}
_MEANINGS = {"long_no_ut": "The candidates of the validation, without their UT hits"}
# % of bias at which the colour of a map is full, of kinds that measure a part of the bend.
_WIDE_SPAN = 10.0


def _pull(component: str, one: Figures) -> str:
    return with_error(one["pulls"][component], "width", ".3f")


def _name(one: Figures) -> str:
    return DECAYS[one["of"]].title if one["of"] in DECAYS else one["of"]


def _mass(name: str, one: Figures) -> str:
    has_mass = DECAYS[one["of"]].mass
    return with_error(one, name, ".0f" if has_mass else ".3f") + (" MeV" if has_mass else " of p")


_KIND: Columns = {
    "p [GeV]": interval,
    "tracks": lambda one: str(one["n"]),
    "core of δp/p [%]": lambda one: with_error(one, "core", ".3f", 100),
    "over the full fit's": lambda one: with_error(one, "core_over_full", ".3f"),
    "bias of q/p [%]": lambda one: with_error(one, "qop_bias", "+.3f", 100),
    **{f"pull {text}": partial(_pull, component) for component, text in COMPONENTS.items()},
}
_SEARCH: Columns = {
    "p [GeV]": interval,
    "particles": lambda one: str(one["n"]),
    "found [%]": lambda one: with_error(one, "efficiency", ".1f", 100),
}
_ELECTRONS: Columns = {
    "electrons of": _name,
    "number": lambda one: str(one["n"]),
    "most probable δp/p [%]": lambda one: with_error(one, "most_probable", "+.2f", 100),
    "the same, as pions [%]": lambda one: with_error(one, "pion_most_probable", "+.2f", 100),
    "half of the central 68 % [%]": lambda one: with_error(one, "width68", ".1f", 100),
    "over the pions'": lambda one: with_error(one, "width68_over_pion", ".3f"),
    "truth within 68 % of the fit [%]": lambda one: with_error(one, "inside", ".1f", 100),
    "within one error as pions [%]": lambda one: with_error(one, "pion_inside", ".1f", 100),
}
_PEAKS: Columns = {
    "decay": _name,
    "pairs": lambda one: str(one["n"]),
    "most probable, as pions": partial(_mass, "pion_most_probable"),
    "the same, as electrons": partial(_mass, "most_probable"),
    "half of the central 68 %, as pions": partial(_mass, "pion_width68"),
    "half of the central 68 %, as electrons": partial(_mass, "width68"),
    "over the pions'": lambda one: with_error(one, "width68_over_pion", ".3f"),
    "within 5 % of the truth, as pions [%]": lambda one: with_error(one, "pion_near", ".1f", 100),
    "within 5 %, as electrons [%]": lambda one: with_error(one, "near", ".1f", 100),
}


def kinds_page(kinds: Figures) -> dict[str, Any]:
    """Return the content of ``kinds.html`` from ``kinds`` of ``validation.json``."""
    measured = {name: of_kind.get("fit") or of_kind for name, of_kind in kinds.items()}
    return {
        "kinds": [_kind(name, figures) for name, figures in measured.items() if figures.get("momentum")],
        "errors": ERRORS,
        "electrons": _electrons(kinds.get("electron", {})),
    }


def _kind(name: str, figures: Figures) -> dict[str, Any]:
    kind, bins, found = KINDS.get(name), figures["momentum"], figures.get("search")
    whole_bend = kind is None or (kind.scifi and (kind.velo or kind.ut))
    return {
        "title": _TITLES.get(name, f"{name.capitalize()} tracks"),
        "meaning": _MEANINGS.get(name) or KINDS[name].meaning,
        "anchor": name,
        "table": table_of(bins, _KIND),
        "maps": bias_maps(figures["directions"], SPAN if whole_bend else _WIDE_SPAN, ERRORS),
        "search": found,
        "found": table_of(found["efficiency"], _SEARCH) if found else None,
    }


def _by_name(entries: Figures, columns: Columns) -> Cells | None:
    """Return a table of entries by their names; None if nothing was measured."""
    rows = [{"of": name, **one} for name, one in entries.items() if one]
    return table_of(rows, columns, text=(next(iter(columns)),)) if rows else None


def _electrons(figures: Figures) -> dict[str, Any] | None:
    """Return the section on electrons from ``kinds.electron``; None where nothing was measured."""
    tracks, peaks = figures.get("tracks", {}), figures.get("peaks", {})
    if not tracks:
        return None
    drawn = [("(p − p_true)/p_true", name, one) for name, one in tracks.items()]
    drawn += [("mass [MeV]", name, one) for name, one in peaks.items() if DECAYS[name].mass]
    panels = [
        Panel(label, f"electrons, {_name({'of': name})}", _both_fits(one["histogram"]), y_limits=(0.0, None))
        for label, name, one in drawn
    ]
    return {
        "figure": Drawn("kind-electron", "Electrons, fitted as pions and as electrons", panels),
        "table": _by_name(tracks, _ELECTRONS),
        "peaks": _by_name(peaks, _PEAKS),
    }


def _both_fits(histogram: Figures) -> list[Series]:
    fits = (("as pions", "pion_content"), ("as electrons", "content"))
    return [
        Series(text, histogram["edges"], histogram[content], shape="steps", colour=number)
        for number, (text, content) in enumerate(fits)
    ]
