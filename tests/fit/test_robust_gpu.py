"""The robust fit's file for GPUs, without a GPU: its threads run one after the other on the host."""

import shutil

import numpy as np
import pytest
from gpu_host import Module
from kalman_toy import generate

from parkf.fit import cpu
from parkf.fit.fitted import INTEGERS, INTEGERS_BEFORE, NUMBERS, NUMBERS_BEFORE
from parkf.fit.gpu import THREADS_PER_BLOCK

COUNT = 300


@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")
def test_threads_give_what_lanes_give(tmp_path):
    toy = generate(COUNT, 5000.0, seed=11, efficiency=0.9)
    toy.parameters.manifest.constants.velo_loss = 0.4
    toy.arrays["ut_x"][::5] += 2.0
    toy.arrays["scifi_x"][1::5] += 2e-3 * np.clip(
        toy.arrays["scifi_z"][1::5] - toy.arrays["scifi_z"][1::5, [4]], 0, None
    )
    tracks = toy.candidates("float64")
    expected, plain = (
        cpu.fit(toy.parameters, tracks, smoother=True, threads=1, build="plain", robust=r)
        for r in (True, False)
    )
    numbers = np.full((len(NUMBERS + NUMBERS_BEFORE), COUNT), np.nan)
    integers = np.full((len(INTEGERS + INTEGERS_BEFORE), COUNT), -7, np.int32)
    numbers[: len(NUMBERS)] = [getattr(plain, name) for name in NUMBERS]
    integers[: len(INTEGERS)] = [getattr(plain, name) for name in INTEGERS]
    manifest, blob = toy.parameters.manifest, toy.parameters.constant.astype(np.float64)
    constants, module = manifest.constants, Module(tmp_path, manifest.forms, "fit/robust.cu", blob)
    hits = (tracks.polarity, tracks.qop, tracks.velo_n, *tracks.velo, *tracks.ut, *tracks.scifi)
    place = (constants.velo_sigma**2, constants.beam_x, constants.beam_y, constants.velo_loss, 1.0)
    arguments = (np.int64(COUNT), *hits, toy.parameters.table, *map(np.float64, place), numbers, integers)
    chosen = np.empty(COUNT, np.bool_)
    blocks, threads = (-(-COUNT // THREADS_PER_BLOCK),), (THREADS_PER_BLOCK,)
    module.get_function("choose_robust")(blocks, threads, (np.int64(COUNT), numbers, integers, chosen))
    which = np.flatnonzero(chosen)
    module.get_function("fit_robust")(blocks, threads, (np.int64(len(which)), which, *arguments))

    for name, values in zip(INTEGERS_BEFORE, integers[len(INTEGERS) :], strict=True):
        np.testing.assert_array_equal(values, expected.more[name], err_msg=name)
    assert {1, 2} <= set(expected.more["treated"])
    for name, values in zip(INTEGERS, integers, strict=False):
        np.testing.assert_array_equal(values, getattr(expected, name), err_msg=name)
    for name, values in zip(NUMBERS, numbers, strict=False):
        np.testing.assert_allclose(values, getattr(expected, name), rtol=1e-9, atol=1e-11, err_msg=name)
    for name, values in zip(NUMBERS_BEFORE, numbers[len(NUMBERS) :], strict=True):
        np.testing.assert_array_equal(values, expected.more[name], err_msg=name)
