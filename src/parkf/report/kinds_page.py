"""The page of other kinds of tracks than long ones with all detectors, and of electrons."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from parkf.report.figures import COMPONENTS
from parkf.report.tables import Cells, Columns, interval, table_of, with_error
from parkf.simulation.generate.decays import DECAYS

Figures = Mapping[str, Any]


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
    "found [%]": lambda one: with_error(one, "efficiency", ".1f", 100),
    "core of δp/p [%]": lambda one: with_error(one, "core", ".3f", 100),
    "over the full fit's": lambda one: with_error(one, "core_over_full", ".3f"),
    "bias of q/p [%]": lambda one: with_error(one, "qop_bias", "+.3f", 100),
    **{f"pull {text}": partial(_pull, component) for component, text in COMPONENTS.items()},
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
    tables = {}
    for name, of_kind in kinds.items():
        figures = of_kind.get("fit") or of_kind
        found = {one["p_min"]: one for one in figures.get("search", {}).get("efficiency", ())}
        rows = [{**found.get(one["p_min"], {}), **one} for one in figures.get("momentum", ())]
        tables[name] = table_of(rows, _KIND)
    electrons = kinds.get("electron", {})
    return {
        "kinds": {name: table for name, table in tables.items() if table.rows},
        "electrons": _by_name(electrons.get("tracks", {}), _ELECTRONS),
        "peaks": _by_name(electrons.get("peaks", {}), _PEAKS),
    }


def _by_name(entries: Figures, columns: Columns) -> Cells:
    rows = [{"of": name, **one} for name, one in entries.items()]
    return table_of(rows, columns, text=(next(iter(columns)),))
