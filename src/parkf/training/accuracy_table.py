"""``accuracy.json`` as a table on a terminal, one set of forms beside another."""

from collections.abc import Iterator, Mapping
from typing import Any

from parkf.io.terminal import aligned
from parkf.training.rows import COMPONENTS
from parkf.training.spread import BINS
from parkf.training.sums import COUNTS

Accuracy = Mapping[str, Any]


def accuracy_table(accuracy: Accuracy, beside: Accuracy | None = None) -> str:
    """Lay out δ_par/σ_MS, the core widths of (form − truth)/σ, the magnet table, and figures at 1 TeV.

    Both arguments are contents of ``accuracy.json``; steps of the second, by name and component, follow
    those of the first.
    """
    measured = [accuracy] if beside is None else [accuracy, beside]
    bins = [f"{low:g}-{high:g}" for low, high in BINS]
    header = ["step", "", "forms", *(f"δ {b}" for b in bins), *(f"w {b}" for b in bins)]
    text = [
        "δ: RMS of (form − Runge–Kutta)/σ_MS; w: core width of (form − truth)/σ; by momentum in GeV.",
        "In brackets: the width's standard error, in units of its last digit.",
        "chain: last VELO hit to first SciFi layer, against the covariance predicted over all steps.",
        aligned(header, list(_rows(measured))),
        "",
        *(line for one in measured for line in _widths(one)),
        "",
        f"Core width of (form − truth)/σ summed over so many like steps, {BINS[1][0]:g}-{BINS[-1][1]:g} GeV.",
        aligned(["step", "", "forms", *map(str, COUNTS)], list(_sums(measured))),
        "",
        "Magnet table, rays over the full acceptance: 68% / 99% of |table − target| in mm or rad.",
        "Targets are Runge–Kutta's; of tx, where the table is closed on the fit, what that asks for.",
        aligned(["", "forms", *bins], list(_magnet(measured))),
        "",
        "At 1 TeV, 99% and largest |δ| in mm or rad; the same in float32.",
        aligned(
            ["step", "", "forms", "99%", "largest", "float32 99%", "float32 largest"], list(_stiff(measured))
        ),
    ]
    return "\n".join(text)


def _rows(measured: list[Accuracy]) -> Iterator[list[object]]:
    named = [{**one["steps"], "chain": one["chain"]} for one in measured]
    for name in named[0]:
        for component in COMPONENTS:
            for one, steps in zip(measured, named, strict=True):
                found = {row["p_min"]: row for row in steps.get(name, {}).get(component, [])}
                rows = [found.get(low, {}) for low, _ in BINS]
                ratios = [None if name == "chain" else row.get("ratio_rms") for row in rows]
                yield [
                    *(name, component, one["forms"]),
                    *(None if ratio is None else f"{ratio:.3f}" for ratio in ratios),
                    *(_width(row) for row in rows),
                ]


def _width(row: Mapping[str, Any]) -> str | None:
    if row.get("truth_width") is None:
        return None
    return f"{row['truth_width']:.3f}({1e3 * row['truth_width_error']:.0f})"


def _widths(one: Accuracy) -> Iterator[str]:
    """Count the widths that differ from one, and those that do so significantly."""
    # The last number is the largest allowed distance of a core width from one.
    for what, steps, band in (("widths of steps", one["steps"], 0.03), ("chain", {"": one["chain"]}, 0.05)):
        rows = [row for step in steps.values() for bins in step.values() for row in bins]
        rows = [row for row in rows if row["truth_width"] is not None]
        off = [(abs(row["truth_width"] - 1) - band, row["truth_width_error"]) for row in rows]
        outside = f"{sum(d > 0 for d, _ in off)} of {len(rows)} outside 1 ± {band:g}"
        known = f"{sum(d > 2 * error for d, error in off)} by more than two standard errors"
        yield f"{one['forms']}, {what}: {outside}, {known}."


def _sums(measured: list[Accuracy]) -> Iterator[list[object]]:
    for name, components in measured[0]["sums"].items():
        for component in components:
            # Older files have no sums.
            for one in (one for one in measured if "sums" in one):
                widths = [f"{row['width']:.3f}" for row in one["sums"][name][component]]
                yield [name, component, one["forms"], *widths]


def _magnet(measured: list[Accuracy]) -> Iterator[list[object]]:
    for component in COMPONENTS:
        for one in measured:
            rows = [row for row in one["table"]["full"] if row["component"] == component]
            found = {row["p_min"]: f"{row['q68']:.3g} / {row['q99']:.3g}" for row in rows}
            yield [component, one["forms"], *(found.get(low) for low, _ in BINS)]


def _stiff(measured: list[Accuracy]) -> Iterator[list[object]]:
    for name, components in measured[0]["stiff"].items():
        for component in components:
            for one in measured:
                figures = one["stiff"][name][component]
                keys = ("q99", "largest", "float32_q99", "float32_largest")
                yield [name, component, one["forms"], *(f"{figures[key]:.1e}" for key in keys)]
