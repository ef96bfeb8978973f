"""The page of a step: formula, light, misfit of the form, and the numbers of each set."""

import re
from collections.abc import Mapping
from typing import Any

from parkf.model.steps import FORMS, Step
from parkf.params.comparison import compare
from parkf.params.parameter_set import ParameterSet
from parkf.proof.gates.room import Light
from parkf.report import figures, tables
from parkf.report.formula import typeset
from parkf.report.maps import Bins, ratio_maps, width_maps
from parkf.report.words import texts
from parkf.training.result import FitResult, SetResult

# Change of each number in units of its error, by block, set and index; None for a number without an error.
Pulls = Mapping[tuple[str, str, int], float | None]


def moves(published: ParameterSet, parameters: ParameterSet) -> Pulls:
    """Compare with a published set, number by number; equal numbers are left out.

    Numbers of a block have no pull if its formulas differ, because such numbers cannot be compared.
    """
    found = compare(published, parameters)
    none: dict[tuple[str, str, int], float | None] = {
        (block.name, label, index): None
        for block in map(parameters.layout.block, found.other_formulas)
        for label in block.sets
        for index in range(block.shape[1])
    }
    return none | {(one.block, one.set, one.index): one.pull for one in found.differences}


def step_page(fit: FitResult, light: Light, against: str | None, pulls: Pulls) -> dict[str, Any]:
    """Return the content of ``step.html``; `pulls` are relative to the published set `against`."""
    step = FORMS[fit.forms].steps[fit.step]

    def one_set(one: SetResult) -> dict[str, Any]:
        own = [pulls.get((step.name, one.label, index), 0.0) for index in range(len(one.values))]
        anchor = _anchor(one.label)
        return {
            "label": one.label,
            "rows": one.rows,
            "note": one.note,
            "parameters": tables.parameters(step, one, {against: own} if against else {}),
            "anchor": anchor,
            "profiles": figures.profiles(f"profiles-{anchor}", one.profiles) if one.profiles else None,
            "correlations": [
                {"title": f"{m.kind} of {m.target}", "table": tables.correlations(m.names, m.correlation)}
                for m in one.minima
                if len(m.names) > 1
            ],
        }

    formulas = step.latex().values()
    ratios, widths = _bins(fit, "ratio_rms"), _bins(fit, "truth_width")
    return {
        "step": step,
        "light": light,
        "symbols": _symbols(step, " ".join(formulas)),
        "formulas": [typeset(line) for line in formulas],
        "ratio": ratio_maps(ratios) if ratios else None,
        "truth": width_maps(widths) if widths else None,
        "sets": [one_set(one) for one in fit.sets],
    }


def _symbols(step: Step, text: str) -> list[tuple[str, str]]:
    """Return symbol, in MathML, and meaning of all symbols in a step's formulas, and of its parameters."""
    # A name that ends with a letter is not the beginning of a longer one.
    found = {
        symbol: meaning
        for symbol, meaning in texts("symbols").items()
        if re.search(rf"(?<![\\A-Za-z]){re.escape(symbol)}(?![A-Za-z])", text)
    }
    found |= {f"p_{{{number}}}": f"{one.text} [{one.unit}]" for number, one in enumerate(step.parameters)}
    return [(typeset(symbol).mathml, meaning) for symbol, meaning in found.items()]


def _bins(fit: FitResult, quantity: str) -> Bins:
    """Return one figure of all sets of a step by momentum; empty for a step without scattering."""
    return {
        (one.label, row.component, row.p_min, row.p_max): number
        for one in fit.sets
        for row in one.accuracy
        if (number := getattr(row, quantity)) is not None
    }


def _anchor(label: str) -> str:
    """Return a set's name for links: forward-0-1 for "forward 0→1", gap-3-y-ge-0 for "gap 3, y ≥ 0"."""
    return "-".join(re.findall(r"\w+", label.replace("≥", " ge ").replace("<", " lt ")))
