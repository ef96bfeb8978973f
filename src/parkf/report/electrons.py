"""The section on electrons of the page of kinds of tracks."""

from collections.abc import Mapping
from typing import Any

from parkf.report.drawing import Drawn, Panel, Series
from parkf.report.tables import Cells, Columns, interval, table_of, with_error
from parkf.simulation.generate.decays import DECAYS

_FITS = {"pion_": "as pions", "": "as electrons"}


def electron_section(figures: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the section from ``kinds.electron`` of ``validation.json``; None where nothing was measured."""
    tracks, peaks = figures.get("tracks", {}), figures.get("peaks", {})
    if not tracks:
        return None
    panels = [_panel(_title(name), "(p − p_true)/p_true", one["histogram"]) for name, one in tracks.items()]
    panels += [
        _panel(_title(name), "mass [MeV]", one["histogram"])
        for name, one in peaks.items()
        if DECAYS[name].mass
    ]
    return {
        "figure": Drawn("kind-electron", "Electrons, fitted as pions and as electrons", panels, small=True),
        "table": _table(tracks),
        "cells": _cells(tracks),
        "peaks": _peaks(peaks) if peaks else None,
    }


def _title(name: str) -> str:
    return DECAYS[name].title if name in DECAYS else name


def _panel(title: str, label: str, histogram: Mapping[str, Any]) -> Panel:
    series = [
        Series(text, histogram["edges"], histogram[f"{kind}content"], shape="steps", colour=number)
        for number, (kind, text) in enumerate(_FITS.items())
    ]
    return Panel(label, f"electrons, {title}", series, y_limits=(0.0, None))


def _table(tracks: Mapping[str, Any]) -> Cells:
    columns: Columns = {
        "electrons of": lambda one: _title(one["sample"]),
        "number": lambda one: str(one["n"]),
        "most probable δp/p [%]": lambda one: with_error(one, "most_probable", "+.2f", 100),
        "as pions": lambda one: with_error(one, "pion_most_probable", "+.2f", 100),
        "half of the central 68 % [%]": lambda one: with_error(one, "width68", ".1f", 100),
        "over the pions'": lambda one: with_error(one, "width68_over_pion", ".3f"),
        "truth within 68 % of the fit [%]": lambda one: with_error(one, "inside", ".1f", 100),
        "within one error as pions": lambda one: with_error(one, "pion_inside", ".1f", 100),
    }
    return table_of(
        [{"sample": name, **one} for name, one in tracks.items()], columns, text=("electrons of",)
    )


def _cells(tracks: Mapping[str, Any]) -> Cells:
    columns: Columns = {
        "electrons of": lambda one: _title(one["sample"]),
        "p [GeV]": interval,
        "η": lambda one: interval(one, "eta"),
        "number": lambda one: str(one["n"]),
        "most probable δp/p [%]": lambda one: with_error(one, "most_probable", "+.2f", 100),
        "half of the central 68 %, over the pions'": lambda one: with_error(one, "width68_over_pion", ".2f"),
        "truth within 68 % of the fit [%]": lambda one: with_error(one, "inside", ".0f", 100),
    }
    rows = [{"sample": name, **cell} for name, one in tracks.items() for cell in one["cells"]]
    return table_of(rows, columns, text=("electrons of",))


def _peaks(peaks: Mapping[str, Any]) -> Cells:
    def value(one: Mapping[str, Any], name: str) -> str:
        has_mass = DECAYS[one["decay"]].mass
        return with_error(one, name, ".0f") if has_mass else with_error(one, name, ".3f") + " of p"

    columns: Columns = {
        "decay": lambda one: DECAYS[one["decay"]].title,
        "pairs": lambda one: str(one["n"]),
        "most probable, as pions [MeV]": lambda one: value(one, "pion_most_probable"),
        "as electrons": lambda one: value(one, "most_probable"),
        "half of the central 68 %, as pions": lambda one: value(one, "pion_width68"),
        "the same, as electrons": lambda one: value(one, "width68"),
        "over the pions'": lambda one: with_error(one, "width68_over_pion", ".3f"),
        "within 5 % of the truth, as pions [%]": lambda one: with_error(one, "pion_near", ".1f", 100),
        "within 5 %, as electrons [%]": lambda one: with_error(one, "near", ".1f", 100),
    }
    return table_of([{"decay": name, **one} for name, one in peaks.items()], columns, text=("decay",))
