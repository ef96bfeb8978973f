"""Figures gathered block by block are those of all rows together."""

import numpy as np
import pytest
from toy_steps import mean_core

from parkf.training.rows import COMPONENTS
from parkf.training.spread import Spreads, core_error, momentum_bins

COUNT = 200_000


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(1)
    qop = random.choice([-1, 1], COUNT) / random.uniform(1000, 120e3, COUNT)
    sigma = {c: np.abs(qop) * (i + 1) for i, c in enumerate(COMPONENTS)}
    delta = {c: 0.1 * sigma[c] * random.standard_t(3, COUNT) for c in COMPONENTS}
    truth = {c: 1.1 * sigma[c] * random.normal(size=COUNT) for c in COMPONENTS}
    return qop, delta, truth, sigma


def _spreads(rows, pieces):
    spreads = Spreads()
    for piece in np.array_split(np.arange(COUNT), pieces):
        spreads.add(rows[0][piece], *({c: part[c][piece] for c in COMPONENTS} for part in rows[1:]))
    return spreads


def test_figures(rows):
    qop, delta, _, sigma = rows
    figures = {(f.p_min, f.component): f for f in _spreads(rows, 7).figures()}
    for low, _, mask in momentum_bins(qop):
        for c in COMPONENTS:
            got, values = figures[low, c], delta[c][mask]
            assert got.n == mask.sum()
            assert got.mean == pytest.approx(values.mean(), rel=1e-9)
            assert got.rms == pytest.approx(np.sqrt(np.mean(values**2)), rel=1e-9)
            assert got.q68 == pytest.approx(np.quantile(np.abs(values), 0.68), rel=0.01)
            if got.n > 5000:
                assert got.q99 == pytest.approx(np.quantile(np.abs(values), 0.99), rel=0.02)
            assert got.ratio_rms == pytest.approx(np.sqrt(np.mean((values / sigma[c][mask]) ** 2)), rel=1e-9)
            # The limit is five errors; a core determines its width less well than all rows do.
            assert got.truth_width == pytest.approx(1.1, rel=8 / np.sqrt(mask.sum()))


def test_bins_of_few_rows_have_no_figures():
    """Nineteen rows at 4 GeV are too few, twenty at 15 GeV are enough."""
    qop = np.array([1 / 4000] * 19 + [-1 / 15_000] * 20)
    ones = dict.fromkeys(COMPONENTS, np.ones(len(qop)))
    spreads = Spreads()
    spreads.add(qop, ones, ones, ones)
    assert {one.n for one in spreads.figures()} == {20}


def test_blocks_do_not_matter(rows):
    one, many = (_spreads(rows, pieces).figures() for pieces in (1, 50))
    for a, b in zip(one, many, strict=True):
        assert a.q99 == b.q99
        assert a.truth_width == b.truth_width
        assert a.rms == pytest.approx(b.rms, rel=1e-12)


def test_core_of_a_normal_distribution_is_its_width(rows):
    for component in COMPONENTS:
        assert mean_core(_spreads(rows, 1).figures(), component) == pytest.approx(1.1, rel=0.015)


def test_the_error_of_a_core_is_the_spread_of_cores():
    random = np.random.default_rng(4)
    qop, n = np.full(2000, 2e-4), 2000
    widths = []
    for _ in range(300):
        spreads = Spreads()
        truth = {c: 2.0 * random.normal(size=n) for c in COMPONENTS}
        spreads.add(qop, truth, truth, dict.fromkeys(COMPONENTS, np.ones(n)))
        widths += [one.truth_width for one in spreads.figures()]
    # 1200 widths: their spread is known to two per cent.
    assert core_error(2.0, n) == pytest.approx(np.std(widths), rel=0.08)


def test_tails_are_no_core(rows):
    qop, delta, truth, sigma = rows
    wide = {c: np.where(np.arange(COUNT) % 20 == 0, 5 * truth[c], truth[c]) for c in COMPONENTS}
    spreads = Spreads()
    spreads.add(qop, delta, wide, sigma)
    # The tails widen the core by 1 %, but the width from the 68% quantile by 6 %.
    assert mean_core(spreads.figures(), "x") == pytest.approx(1.1, rel=0.035)


def test_without_scattering(rows):
    spreads = Spreads()
    spreads.add(rows[0], rows[1], rows[2], None)
    assert {(f.ratio_rms, f.truth_width) for f in spreads.figures()} == {(None, None)}
