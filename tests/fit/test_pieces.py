"""A large batch is fitted in pieces, between which an interrupt is handled; results do not depend on them."""

import signal
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from parkf.fit import cpu, fit
from parkf.fit.candidates import Candidates, from_arrow
from parkf.fit.fitted import INTEGERS, NUMBERS
from parkf.fit.outliers import fit_without_outliers
from parkf.params.parameter_set import load

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def parameters():
    return load(ROOT / "params/2026-run3-like-2-r005")


@pytest.fixture(scope="module")
def tracks() -> Candidates:
    return from_arrow(pq.read_table(ROOT / "examples/candidates.parquet"), "float32")


def same(one, other) -> None:
    for name in (*NUMBERS, *INTEGERS):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize("robust", [False, True])
def test_pieces_change_nothing(parameters, tracks, monkeypatch, robust: bool) -> None:
    whole = fit(parameters, tracks, threads=2, robust=robust)
    monkeypatch.setattr(cpu, "_PIECE", 64)
    same(fit(parameters, tracks, threads=2, robust=robust), whole)


def test_pieces_change_no_outlier(parameters, tracks, monkeypatch) -> None:
    whole, gone = fit_without_outliers(parameters, tracks, limit=4.0, threads=1)
    monkeypatch.setattr(cpu, "_PIECE", 64)
    again, gone_again = fit_without_outliers(parameters, tracks, limit=4.0, threads=1)
    same(again, whole)
    np.testing.assert_array_equal(gone_again, gone)
    assert gone.any()


def test_an_interrupt_ends_a_fit_between_two_pieces(parameters, tracks, monkeypatch) -> None:
    calls = []
    arguments = cpu._arguments

    def interrupted(*given):
        calls.append(given)
        if len(calls) == 2:
            signal.raise_signal(signal.SIGINT)
        return arguments(*given)

    monkeypatch.setattr(cpu, "_PIECE", 64)
    monkeypatch.setattr(cpu, "_arguments", interrupted)
    # Processes that a shell starts in the background ignore the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            fit(parameters, tracks, threads=1)
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(calls) == 2
