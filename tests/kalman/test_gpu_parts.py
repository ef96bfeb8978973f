"""How the GPU's back end hands tracks over: NumPy in CuPy's place, the processor's kernel in the GPU's."""

import dataclasses
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
from kalman_toy import generate

from parkf.kalman import cpu, gpu
from parkf.kalman.candidates import Candidates
from parkf.kalman.fitted import INTEGERS, NUMBERS


class Stream(nullcontext):
    """Work in a stream is done at once."""


class OnDevice(np.ndarray):
    """An array that NumPy must not get to without saying so."""

    def get(self, stream):
        assert isinstance(stream, Stream)
        return np.asarray(self)


def on_device(array):
    return np.array(array).view(OnDevice)


@pytest.fixture
def toy():
    return generate(700, 8000.0, seed=5)


@pytest.fixture
def launches(toy, monkeypatch):
    """Sizes of the launches of a GPU that is none."""
    sizes = []

    def run(blocks, threads, arguments):
        count, stride, polarity, qop, velo_n, *hits, _, _, _, _, numbers, integers = arguments
        assert blocks[0] * threads[0] >= count == stride
        sizes.append(int(count))
        rows = [tuple(np.ascontiguousarray(q.T) for q in group) for group in hits]
        fitted = cpu.fit(toy.parameters, Candidates(polarity, qop, velo_n, *rows), smoother=True, threads=1)
        numbers[:] = [getattr(fitted, name) for name in NUMBERS]
        integers[:] = [getattr(fitted, name) for name in INTEGERS]

    cupy = SimpleNamespace(
        ndarray=OnDevice,
        asarray=on_device,
        empty=lambda shape, dtype: on_device(np.empty(shape, dtype)),
        stack=lambda arrays: on_device(np.stack(arrays)),
        cuda=SimpleNamespace(Stream=Stream, Device=lambda: SimpleNamespace(id=0)),
    )
    monkeypatch.setattr(gpu, "_cupy", lambda: cupy)
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
