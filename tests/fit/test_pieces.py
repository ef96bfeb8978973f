"""A large batch is fitted in pieces, between which an interrupt is handled; results do not depend on them."""

import signal
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from parkf.fit import cpu, fit
from parkf.fit.candidates import Candidates
from parkf.fit.fitted import INTEGERS, NUMBERS
from parkf.fit.hits import from_arrow
from parkf.params.parameter_set import load

ROOT = Path(__file__).parents[2]
PIECE = 1 << 13  # tracks of a thread, as in fitter.cpp
LAST = slice(-PIECE - 100, None)  # candidates of two pieces


@pytest.fixture(scope="module")
def parameters():
    return load(ROOT / "params/2026-run3-like-2-r005")


@pytest.fixture(scope="module")
def tracks() -> Candidates:
    return from_arrow(pq.read_table(ROOT / "examples/candidates.parquet"), "float32")


def same_as_last(last, whole) -> None:
    for name in (*NUMBERS, *INTEGERS):
        np.testing.assert_array_equal(getattr(last, name), getattr(whole, name)[LAST])


@pytest.fixture(scope="module")
def many(tracks) -> Candidates:
    """So many candidates that a thread needs twenty pieces for them; no two pieces begin alike."""
    return tracks.rows(np.arange(20 * PIECE) % (tracks.count - 1))


@pytest.mark.parametrize("robust", [False, True])
def test_pieces_change_nothing(parameters, many, robust: bool) -> None:
    whole = fit(parameters, many, threads=1, robust=robust)
    same_as_last(fit(parameters, many.rows(LAST), threads=1, robust=robust), whole)


def on_alarm(handler, call) -> None:
    """Call, while a signal comes every half millisecond."""
    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 5e-4, 5e-4)
    try:
        call()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_signals_are_handled_between_pieces(parameters, many) -> None:
    handled = []
    on_alarm(lambda *_: handled.append(1), lambda: cpu.fit(parameters, many, smoother=True, threads=1))
    # Python itself looks once before the fit and once after it.
    assert len(handled) > 2


def test_an_interrupt_ends_a_fit(parameters, many) -> None:
    def interrupt(*_) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        on_alarm(interrupt, lambda: cpu.fit(parameters, many, smoother=True, threads=1))
