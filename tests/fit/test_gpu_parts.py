"""How the GPU's back end transfers tracks; NumPy replaces CuPy, the processor's kernel replaces the GPU's."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
from gpu_host import CUPY, OnDevice, on_device
from kalman_toy import generate

from parkf.fit import cpu, gpu
from parkf.fit.candidates import Candidates
from parkf.fit.fitted import INTEGERS, NUMBERS


@pytest.fixture
def toy():
    return generate(700, 8000.0, seed=5)


@pytest.fixture
def launches(toy, monkeypatch):
    """Sizes of the launches on a simulated GPU."""
    sizes = []

    def run(blocks, threads, arguments):
        count, polarity, qop, velo_n, *hits, table, variance, x, y, loss, foil, numbers, integers = arguments
        np.testing.assert_array_equal(table, toy.parameters.table)
        # The VELO's σ is 12.5 μm, and the beam has the toy's position.
        np.testing.assert_allclose([variance, x, y], [1.5625e-4, 0.02, -0.03])
        assert (loss, foil) == (0, 1)
        assert blocks[0] * threads[0] >= count
        assert all(a.flags.c_contiguous and a.data.ptr % 16 == 0 for a in hits)
        sizes.append(int(count))
        rows = [tuple(hits[:3]), tuple(hits[3:7]), tuple(hits[7:])]
        fitted = cpu.fit(toy.parameters, Candidates(polarity, qop, velo_n, *rows), smoother=True, threads=1)
        numbers[:] = [getattr(fitted, name) for name in NUMBERS]
        integers[:] = [getattr(fitted, name) for name in INTEGERS]

    monkeypatch.setattr(gpu, "_cupy", lambda: CUPY)
    monkeypatch.setattr(gpu, "_module", lambda *_: SimpleNamespace(get_function=lambda _: run))
    monkeypatch.setattr(gpu, "PART", 128)
    return sizes


def same(a, b):
    for field in dataclasses.fields(a):
        np.testing.assert_array_equal(getattr(a, field.name), getattr(b, field.name))


@pytest.mark.parametrize("count", [0, 1, 128, 129, 700])
def test_parts_of_host_arrays_come_back_in_their_places(toy, launches, count):
    tracks = toy.candidates("float32").rows(slice(0, count))
    same(
        gpu.fit(toy.parameters, tracks, smoother=True),
        cpu.fit(toy.parameters, tracks, smoother=True, threads=1),
    )
    assert sum(launches) == count
    assert all(size <= 128 for size in launches)


def test_arrays_on_the_device_stay_there(toy, launches):
    tracks = toy.candidates("float32")
    there = Candidates(
        *map(on_device, (tracks.polarity, tracks.qop, tracks.velo_n)),
        *(tuple(map(on_device, group)) for group in (tracks.velo, tracks.ut, tracks.scifi)),
    )
    fitted = gpu.fit(toy.parameters, there, smoother=True)
    assert launches == [700]
    assert isinstance(fitted.qop, OnDevice)
    assert isinstance(fitted.status, OnDevice)
    same(fitted, cpu.fit(toy.parameters, tracks, smoother=True, threads=1))


def test_rows_that_the_kernel_cannot_read_are_copied(toy, launches):
    tracks = toy.candidates("float32")
    shifted, wide = (
        on_device(np.zeros(26 * 700 + 1, np.float32))[1:],
        on_device(np.zeros((700, 27), np.float32)),
    )
    shifted, gapped = shifted.reshape(700, 26), wide[:, 1:]
    shifted[...], gapped[...] = tracks.velo[0], tracks.velo[1]
    there = dataclasses.replace(tracks, qop=on_device(tracks.qop), velo=(shifted, gapped, tracks.velo[2]))
    fitted = gpu.fit(toy.parameters, there, smoother=True)
    same(fitted, cpu.fit(toy.parameters, tracks, smoother=True, threads=1))


def test_a_robust_fit_of_no_track_has_what_it_was_before(toy, launches):
    fitted = gpu.fit(toy.parameters, toy.candidates("float32").rows(slice(0, 0)), smoother=True, robust=True)
    assert {values.shape for values in fitted.more.values()} == {(0,)}
    assert launches == []
