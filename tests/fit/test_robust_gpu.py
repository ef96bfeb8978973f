"""The robust fit's file for GPUs, without a GPU: its threads run one after the other on the host."""

import shutil
import subprocess

import numpy as np
import pytest
from kalman_toy import generate

from parkf.fit import cpu
from parkf.fit.fitted import INTEGERS, INTEGERS_BEFORE, NUMBERS, NUMBERS_BEFORE
from parkf.fit.source import flattened

PROGRAM = r"""
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(threads)
#define __constant__ static

struct Index { unsigned x; };
Index threadIdx, blockIdx;

#include "flattened.hpp"

using namespace parkf::kalman;

template <class S> std::vector<S> read(std::FILE* file, long count) {
  std::vector<S> values(count);
  if (std::fread(values.data(), sizeof(S), count, file) != static_cast<std::size_t>(count)) std::abort();
  return values;
}

int main() {
  std::FILE* in = std::fopen("in", "rb");
  const auto constant = read<Real>(in, forms::layout::count);
  for (int i = 0; i < forms::layout::count; ++i) parkf_constant[i] = constant[i];
  const auto table = read<float>(in, 240000);
  const long n = read<long>(in, 1)[0];
  const auto velo_n = read<int>(in, n);
  const auto polarity = read<Real>(in, n), qop = read<Real>(in, n);
  std::vector<std::vector<Real>> hits;
  for (int q = 0; q < 3; ++q) hits.push_back(read<Real>(in, velo_slots * n));
  for (int q = 0; q < 4; ++q) hits.push_back(read<Real>(in, ut_layers * n));
  for (int q = 0; q < 4; ++q) hits.push_back(read<Real>(in, scifi_layers * n));
  const auto at = [&hits](int q) { return hits[q].data(); };
  auto numbers = read<Real>(in, (fitted_numbers + robust_numbers) * n);
  auto integers = read<int>(in, (fitted_integers + robust_integers) * n);
  const std::unique_ptr<bool[]> chosen(new bool[n]);
  for (blockIdx.x = 0; blockIdx.x * PARKF_THREADS < n; ++blockIdx.x) {
    for (threadIdx.x = 0; threadIdx.x < PARKF_THREADS; ++threadIdx.x) {
      choose_robust(n, numbers.data(), integers.data(), chosen.get());
    }
  }
  std::vector<long> which;
  for (long i = 0; i < n; ++i) if (chosen[i]) which.push_back(i);
  const long few = which.size();
  for (blockIdx.x = 0; blockIdx.x * PARKF_THREADS < few; ++blockIdx.x) {
    for (threadIdx.x = 0; threadIdx.x < PARKF_THREADS; ++threadIdx.x) {
      fit_robust(few, which.data(), n, polarity.data(), qop.data(), velo_n.data(), at(0), at(1), at(2), at(3),
                 at(4), at(5), at(6), at(7), at(8), at(9), at(10), table.data(), Real(0.0125 * 0.0125),
                 Real(0.02), Real(-0.03), Real(0.4), Real(1), numbers.data(), integers.data());
    }
  }
  std::FILE* out = std::fopen("out", "wb");
  std::fwrite(numbers.data(), sizeof(Real), numbers.size(), out);
  std::fwrite(integers.data(), sizeof(int), integers.size(), out);
  std::fclose(out);
}
"""
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
    with (tmp_path / "in").open("wb") as file:
        shared = (toy.parameters.constant.astype(np.float64), toy.parameters.table, np.int64([COUNT]))
        hits = (*tracks.velo, *tracks.ut, *tracks.scifi)
        for part in (*shared, tracks.velo_n, tracks.polarity, tracks.qop, *hits, numbers, integers):
            file.write(part.tobytes())
    (tmp_path / "flattened.hpp").write_text(flattened(toy.parameters.manifest.forms, "fit/robust.cu"))
    (tmp_path / "main.cpp").write_text(PROGRAM)
    defined = ["-DPARKF_REAL=double", "-DPARKF_THREADS=32"]
    build = ["g++", "-std=c++17", "-O0", "-Wall", "-Wextra", "-Werror", *defined]
    subprocess.run([*build, "main.cpp", "-o", "main"], cwd=tmp_path, check=True)
    subprocess.run([tmp_path / "main"], cwd=tmp_path, check=True)

    written = (tmp_path / "out").read_bytes()
    got = np.frombuffer(written, np.float64, numbers.size).reshape(numbers.shape)
    said = np.frombuffer(written[got.nbytes :], np.int32).reshape(integers.shape)
    for name, values in zip(INTEGERS_BEFORE, said[len(INTEGERS) :], strict=True):
        np.testing.assert_array_equal(values, expected.before[name], err_msg=name)
    assert {1, 2} <= set(expected.before["treated"])
    for name, values in zip(INTEGERS, said, strict=False):
        np.testing.assert_array_equal(values, getattr(expected, name), err_msg=name)
    for name, values in zip(NUMBERS, got, strict=False):
        np.testing.assert_allclose(values, getattr(expected, name), rtol=1e-9, atol=1e-11, err_msg=name)
    for name, values in zip(NUMBERS_BEFORE, got[len(NUMBERS) :], strict=True):
        np.testing.assert_array_equal(values, expected.before[name], err_msg=name)
