"""The page of a step: formula, misfit of the form, and the numbers of each set."""

import re
from typing import Any

from parkf.model.steps import FORMS, Step
from parkf.report import figures, tables
from parkf.report.formula import typeset
from parkf.report.maps import Bins, ratio_maps, width_maps
from parkf.report.words import texts
from parkf.training.result import FitResult, SetResult
from parkf.training.spread import core_error


def step_page(fit: FitResult) -> dict[str, Any]:
    """Return the content of ``step.html``."""
    step = FORMS[fit.forms].steps[fit.step]

    def one_set(one: SetResult) -> dict[str, Any]:
        anchor = _anchor(one.label)
        return {
            "label": one.label,
            "rows": one.rows,
            "note": one.note,
            "parameters": tables.parameters(step, one),
            "anchor": anchor,
            "profiles": figures.profiles(f"profiles-{anchor}", one.profiles) if one.profiles else None,
        }

    formulas = step.latex().values()
    bins = {(one.label, row.component, row.p_min, row.p_max): row for one in fit.sets for row in one.accuracy}
    # A ratio is misfit and no statistical figure. Both are None for a step without scattering.
    ratios: Bins = {key: (row.ratio_rms, None) for key, row in bins.items() if row.ratio_rms is not None}
    widths: Bins = {
        key: (row.truth_width, core_error(row.truth_width, row.n))
        for key, row in bins.items()
        if row.truth_width is not None
    }
    return {
        "step": step,
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


def _anchor(label: str) -> str:
    """Return a set's name for links: forward-0-1 for "forward 0→1", gap-3-y-ge-0 for "gap 3, y ≥ 0"."""
    return "-".join(re.findall(r"\w+", label.replace("≥", " ge ").replace("<", " lt ")))
