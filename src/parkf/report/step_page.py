"""The page of a step: formula, light, what the form misses, and the numbers of each of its sets."""

import re
from typing import Any

from parkf.model.steps import FORMS
from parkf.params.comparison import compare
from parkf.params.parameter_set import ParameterSet, load
from parkf.params.registry import Registry
from parkf.proof.gates import Light
from parkf.report import figures, tables
from parkf.report.formula import typeset
from parkf.report.step_map import Bins, ratio_map, width_map
from parkf.training.result import FitResult, SetResult

Pulls = dict[tuple[str, str, int], float | None]
"""By block, set and index, how many errors a number has moved; None without errors."""


def newest_alike(registry: Registry, parameters: ParameterSet) -> str | None:
    """Name the newest published set of the same detector and forms that is not withdrawn."""
    for version in reversed(registry.versions()):
        if registry.withdrawal(version) is None:
            manifest = load(registry.path(version)).manifest
            own = parameters.manifest
            if (manifest.detector, manifest.forms) == (own.detector, own.forms):
                return version
    return None


def moves(published: ParameterSet, parameters: ParameterSet) -> Pulls:
    """Compare with a published set, number by number; those that are equal are left out.

    Numbers of blocks whose formulas differ have no pull, since there is nothing to compare them with.
    """
    found = compare(published, parameters)
    changed = [parameters.layout.block(name) for name in found.other_formulas]
    none: Pulls = {
        (block.name, label, index): None
        for block in changed
        for label in block.sets
        for index in range(block.shape[1])
    }
    return none | {(one.block, one.set, one.index): one.pull for one in found.differences}


def step_page(fit: FitResult, light: Light, against: str | None, pulls: Pulls) -> dict[str, Any]:
    """Return the content of ``step.html``.

    Parameters
    ----------
    fit : FitResult
        The step's fits.
    light : Light
    against : str or None
        Name of the published set that numbers are compared with.
    pulls : dict
        Of :func:`moves`.
    """
    step = FORMS[fit.forms].steps[fit.step]

    def one_set(one: SetResult) -> dict[str, Any]:
        own = [pulls.get((step.name, one.label, index), 0.0) for index in range(len(one.values))]
        return {
            "label": one.label,
            "rows": one.rows,
            "parameters": tables.parameters(step, one, {against: own} if against else {}),
            "minima": tables.minima(one),
            "anchor": _anchor(one.label),
            "profiles": figures.profiles(f"profiles-{_anchor(one.label)}", one.profiles)
            if one.profiles
            else None,
            "correlations": [m for m in one.minima if len(m.names) > 1],
        }

    return {
        "step": step,
        "light": light,
        "formulas": [typeset(line) for line in step.latex().values()],
        "ratio": None if (ratios := _bins(fit, "ratio_rms")) is None else ratio_map(ratios),
        "truth": None if (widths := _bins(fit, "truth_width")) is None else width_map(widths),
        "sets": [one_set(one) for one in fit.sets],
    }


def _bins(fit: FitResult, quantity: str) -> Bins | None:
    """Return one figure of all sets of a step by momentum; empty for a step without scattering."""
    values: dict[str, dict[str, dict[tuple[float, float], float]]] = {}
    for one in fit.sets:
        for row in one.accuracy:
            if (number := getattr(row, quantity)) is not None:
                bins = values.setdefault(one.label, {}).setdefault(row.component, {})
                bins[row.p_min, row.p_max] = number
    return values or None


def _anchor(label: str) -> str:
    """Name a set in a link: of "forward 0→1", forward-0-1; of "gap 3, y ≥ 0", gap-3-y-ge-0."""
    return "-".join(re.findall(r"\w+", label.replace("≥", " ge ").replace("<", " lt ")))
