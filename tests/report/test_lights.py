"""Traffic lights of fits whose figures are written by hand."""

import pytest

from parkf.report.lights import light
from parkf.training.result import BinAccuracy, FitResult, SetResult


def fit(*bins):
    rows = [
        BinAccuracy(
            **dict.fromkeys(("mean", "rms", "q68", "q99"), 0.0),
            p_min=p_min,
            p_max=2 * p_min,
            component="tx",
            n=100_000,
            ratio_rms=ratio,
            truth_width=width,
        )
        for p_min, ratio, width in bins
    ]
    nothing = {"values": [], "errors": [], "minima": [], "truth_width": {}, "profiles": []}
    one = SetResult(label="gap 3", rows=1, accuracy=rows, **nothing)
    return FitResult(forms="production", step="T", formula="", dataset="", table=None, sets=[one])


@pytest.mark.parametrize(
    ("bins", "colour"),
    [
        ([(3.0, 0.2, 1.02), (10.0, 0.1, 0.97)], "green"),
        ([(3.0, 0.4, 1.0)], "amber"),
        ([(3.0, 0.1, 1.1)], "amber"),
        ([(3.0, 1.2, 1.0)], "red"),
        ([(3.0, 0.1, 0.7)], "red"),
        ([(1.5, 3.0, 2.0), (3.0, 0.1, 1.0)], "green"),
        ([(3.0, None, None)], "green"),
    ],
)
def test_colours(bins, colour):
    assert light(fit(*bins)).colour == colour


def test_the_reason_names_the_worst_place():
    reason = light(fit((3.0, 0.2, 1.0), (10.0, 0.4, 1.2))).reason
    assert reason == (
        "δ_par/σ_MS up to 0.40 (gap 3, tx, 10–20 GeV); "
        "width of the truth 1.20 at worst (gap 3, tx, 10–20 GeV)"
    )
