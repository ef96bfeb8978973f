"""The file for GPUs that fits kinds of tracks, without a GPU: as the back end starts it."""

import shutil

import kalman_toy as toy
import numpy as np
import pytest
from gpu_host import CUPY, Module
from uniform_field import uniform

from parkf.fit import cpu, fit, gpu
from parkf.fit.fitted import INTEGERS, NUMBERS
from parkf.io.kinds import KINDS, LONG
from parkf.io.tables import BEHIND_VELO
from parkf.model.steps import FORMS

COUNT = 70
SLICES = uniform(0.1)  # T: a kick of 0.15 GeV between z_in and z_out


@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")
@pytest.mark.parametrize("forms", FORMS)
def test_threads_give_what_lanes_give(tmp_path, monkeypatch, forms):
    sample = toy.generate(COUNT, 5000.0, seed=11, efficiency=0.95, forms=forms)
    sample.parameters.manifest.constants.velo_loss = 0.4
    sample.parameters.slices = SLICES
    sample.arrays["qop"][7] = np.inf
    sample.arrays["scifi_x"][5] = np.nan
    tracks = sample.candidates("float64")
    module = Module(tmp_path, forms, "fit/kind.cu", sample.parameters.constant.astype(np.float64))
    monkeypatch.setattr(gpu, "_cupy", lambda: CUPY)
    monkeypatch.setattr(gpu, "_module", lambda *_: module)
    for kind in KINDS.values():
        if kind is LONG:
            continue
        expected = cpu.fit_kind(sample.parameters, tracks, kind, threads=1, build="plain")
        got = fit(sample.parameters, tracks, precision="float64", backend="gpu", kind=kind.name)
        for name in INTEGERS:
            np.testing.assert_array_equal(getattr(got, name), getattr(expected, name), err_msg=name)
        for name in NUMBERS:
            given, wanted = getattr(got, name), getattr(expected, name)
            np.testing.assert_allclose(given, wanted, rtol=1e-8, atol=1e-11, err_msg=f"{kind.name} {name}")
        assert set(got.more) == (set() if kind.velo else set(dict(BEHIND_VELO)))
        for name, values in got.more.items():
            np.testing.assert_allclose(values, expected.more[name], rtol=1e-8, atol=1e-14, err_msg=name)
