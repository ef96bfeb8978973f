"""The kernel's headers alone, under the address and undefined-behaviour sanitizers."""

import shutil
import subprocess

import numpy as np
import pytest
from kalman_toy import generate

from parkf.fit import cpu
from parkf.fit.source import KERNEL_FOLDER

PROGRAM = r"""
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "fit/magnet_lanes.hpp"
#include "fit/rich.hpp"
#include "fit/smoother.hpp"
#include "fit/tile.hpp"
#include "fit/trigger.hpp"

using namespace parkf;
using namespace parkf::kalman;
using namespace parkf::kalman::PARKF_FORMS;

template <class S> std::vector<S> read(std::FILE* file, long count) {
  std::vector<S> values(count);
  if (std::fread(values.data(), sizeof(S), count, file) != static_cast<std::size_t>(count)) std::abort();
  return values;
}

template <class T>
void run(const CandidateRows<float>& rows, const Detector<float>& detector, const std::vector<float>& rich) {
  const long stride = (rows.count + 15) / 16 * 16;
  std::vector<float> numbers(fitted_numbers * stride);
  std::vector<int> integers(fitted_integers * stride);
  std::vector<float> states(rich::planes * plane_numbers * stride);
  Tile<T> tile;
  for (long i = 0; i < rows.count; i += Number<T>::lanes) {
    fill(rows, i, tile);
    const auto tracks = tile.candidates();
    store(fit_trigger<T>(tracks, 0, detector), stride, i, numbers.data(), integers.data());
    store(fit_smoother<T>(tracks, 0, detector), stride, i, numbers.data(), integers.data());
    store_states(fit_rich<T>(tracks, 0, detector, rich.data()), stride, i, states.data());
  }
  std::FILE* out = std::fopen("out", "wb");
  std::fwrite(numbers.data(), 4, numbers.size(), out);
  std::fclose(out);
}

int main() {
  std::FILE* in = std::fopen("in", "rb");
  const auto constant = read<float>(in, layout::count);
  const auto table = read<float>(in, 240000);
  const auto rich = read<float>(in, rich::count);
  const long n = read<long>(in, 1)[0];
  const auto velo_n = read<int>(in, n);
  const auto polarity = read<float>(in, n), qop = read<float>(in, n);
  // An array each, so that reading beyond one is found.
  std::vector<std::vector<float>> hits;
  for (int q = 0; q < 3; ++q) hits.push_back(read<float>(in, velo_slots * n));
  for (int q = 0; q < 4; ++q) hits.push_back(read<float>(in, ut_layers * n));
  for (int q = 0; q < 4; ++q) hits.push_back(read<float>(in, scifi_layers * n));
  const auto at = [&hits](int q) { return hits[q].data(); };
  const CandidateRows<float> rows{n, polarity.data(), qop.data(), velo_n.data(), {at(0), at(1), at(2)},
                                  {at(3), at(4), at(5), at(6)}, {at(7), at(8), at(9), at(10)}};
  const Detector<float> detector{constant.data(), table.data(), 0.0125F * 0.0125F, 0.02F, -0.03F};
  run<NUMBER>(rows, detector, rich);
}
"""


@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")
@pytest.mark.parametrize(("number", "forms"), [("float", "production"), ("Lanes<float,4>", "improved")])
def test_the_kernel_is_clean_and_gives_the_modules_numbers(tmp_path, number, forms):
    toy = generate(203, 5000.0, seed=9, efficiency=0.9, forms=forms)
    toy.arrays["velo_x"][5] = np.nan
    toy.arrays["qop"][7] = np.inf
    tracks = toy.candidates("float32")
    with (tmp_path / "in").open("wb") as file:
        count = np.int64([len(tracks.qop)])
        for part in (toy.parameters.constant, toy.parameters.table, toy.parameters.rich.numbers, count):
            file.write(part.tobytes())
        for part in (tracks.velo_n, tracks.polarity, tracks.qop, *tracks.velo, *tracks.ut, *tracks.scifi):
            file.write(part.tobytes())
    (tmp_path / "main.cpp").write_text(PROGRAM)
    warnings = ["-Wall", "-Wextra", "-Werror", "-Wno-psabi"]
    sanitizers = ["-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    build = ["g++", "-std=c++17", *warnings, *sanitizers, "-DPARKF_CALLS", f"-DNUMBER={number}"]
    folders = [f"-I{KERNEL_FOLDER}", f"-I{KERNEL_FOLDER / forms}"]
    subprocess.run([*build, *folders, "main.cpp", "-o", "main"], cwd=tmp_path, check=True)
    subprocess.run(["./main"], cwd=tmp_path, check=True)
    expected = cpu.fit(toy.parameters, tracks, smoother=True, threads=1, build="plain")
    x = np.fromfile(tmp_path / "out", dtype=np.float32).reshape(16, -1)[1, :203]
    good = expected.status == 0
    assert np.abs((x - expected.x) / np.sqrt(expected.xx))[good].max() < 0.02
    np.testing.assert_array_equal(np.isfinite(x), np.isfinite(expected.x))
