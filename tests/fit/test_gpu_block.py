"""The GPU's own file, run without a GPU: host threads that wait for each other replace those of a block."""

import shutil
import subprocess

import numpy as np
import pytest
from kalman_toy import generate

from parkf.fit import cpu
from parkf.fit.fitted import INTEGERS, NUMBERS
from parkf.fit.gpu import THREADS_PER_BLOCK
from parkf.fit.source import flattened

PROGRAM = r"""
#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __constant__ static
#define __shared__ static

struct Index { unsigned x; };
thread_local Index threadIdx, blockIdx;
pthread_barrier_t barrier;
void __syncthreads() { pthread_barrier_wait(&barrier); }

#include "flattened.hpp"

using namespace parkf;
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
  std::vector<Real> numbers(fitted_numbers * n);
  std::vector<int> integers(fitted_integers * n);
  pthread_barrier_init(&barrier, nullptr, PARKF_THREADS);
  for (unsigned block = 0; block * PARKF_THREADS < n; ++block) {
    std::vector<std::thread> team;
    for (unsigned thread = 0; thread < PARKF_THREADS; ++thread) {
      team.emplace_back([&, thread] {
        threadIdx.x = thread;
        blockIdx.x = block;
        SCHEME(n, polarity.data(), qop.data(), velo_n.data(), at(0), at(1), at(2), at(3), at(4), at(5), at(6),
               at(7), at(8), at(9), at(10), table.data(), Real(0.0125 * 0.0125), Real(0.02), Real(-0.03),
               Real(0.4), Real(1), numbers.data(), integers.data());
      });
    }
    for (auto& thread : team) thread.join();
  }
  std::FILE* out = std::fopen("out", "wb");
  std::fwrite(numbers.data(), sizeof(Real), numbers.size(), out);
  std::fwrite(integers.data(), sizeof(int), integers.size(), out);
  std::fclose(out);
}
"""
# The last block has one track.
COUNT = 2 * THREADS_PER_BLOCK + 1


@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")
@pytest.mark.parametrize(
    ("scheme", "precision", "forms"),
    [("smoother", "float64", "improved"), ("trigger", "float32", "production")],
)
def test_threads_of_a_block_do_not_disturb_each_other(tmp_path, run_sanitized, scheme, precision, forms):
    """The thread sanitizer ends the program if two threads use a number without waiting in between."""
    toy = generate(COUNT, 5000.0, seed=11, efficiency=0.9, forms=forms)
    toy.parameters.manifest.constants.velo_loss = 0.4
    toy.arrays["velo_n"][3] = 0
    toy.arrays["scifi_x"][5] = np.nan
    toy.arrays["qop"][7] = np.inf
    tracks = toy.candidates(precision)
    with (tmp_path / "in").open("wb") as file:
        constant = toy.parameters.constant.astype(precision)
        for part in (constant, toy.parameters.table, np.int64([COUNT]), tracks.velo_n, tracks.polarity):
            file.write(part.tobytes())
        for part in (tracks.qop, *tracks.velo, *tracks.ut, *tracks.scifi):
            file.write(part.tobytes())
    (tmp_path / "flattened.hpp").write_text(flattened(forms))
    (tmp_path / "main.cpp").write_text(PROGRAM)
    real = {"float32": "float", "float64": "double"}[precision]
    defined = [f"-DPARKF_REAL={real}", f"-DPARKF_THREADS={THREADS_PER_BLOCK}", f"-DSCHEME=fit_{scheme}"]
    warnings = ["-Wall", "-Wextra", "-Werror"]
    build = ["g++", "-std=c++17", "-O1", *warnings, "-fsanitize=thread", "-pthread", "-DPARKF_CALLS"]
    subprocess.run([*build, *defined, "main.cpp", "-o", "main"], cwd=tmp_path, check=True)
    run_sanitized(tmp_path / "main")

    expected = cpu.fit(toy.parameters, tracks, smoother=scheme == "smoother", threads=1, build="plain")
    written = (tmp_path / "out").read_bytes()
    numbers = np.frombuffer(written, precision, len(NUMBERS) * COUNT).reshape(len(NUMBERS), COUNT)
    integers = np.frombuffer(written[numbers.nbytes :], np.int32).reshape(len(INTEGERS), COUNT)
    for name, got in zip(INTEGERS, integers, strict=True):
        np.testing.assert_array_equal(got, getattr(expected, name), err_msg=name)
    tolerance = {"float32": 1e-3, "float64": 1e-11}[precision]
    for name, got in zip(NUMBERS, numbers, strict=True):
        np.testing.assert_allclose(got, getattr(expected, name), rtol=tolerance, atol=tolerance, err_msg=name)
