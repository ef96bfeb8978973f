"""Persistent threads work on each block once, even for concurrent callers; the thread sanitizer is clean."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

KERNEL = Path(__file__).parents[3] / "src/kernel"
COMPILER = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")

PROGRAM = r"""
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <vector>

#include "threads/parallel.hpp"

using parkf::for_blocks;

void once_each(std::size_t count, std::size_t block, int threads) {
  std::vector<int> times(count);
  for_blocks(count, block, threads, [&](std::size_t begin, std::size_t end) {
    if (begin >= end || end > count) std::abort();
    for (std::size_t i = begin; i < end; ++i) ++times[i];
  });
  for (const int n : times) if (n != 1) std::abort();
}

void nested(int turns) {
  for (int turn = 0; turn < turns; ++turn) {
    std::vector<int> sums(6);
    for_blocks(6, 1, 3, [&](std::size_t i, std::size_t) {
      once_each(40, 7, 2);
      for_blocks(10, 3, 1, [&](std::size_t begin, std::size_t end) {
        sums[i] += static_cast<int>(end - begin);
      });
    });
    for (const int sum : sums) if (sum != 10) std::abort();
  }
}

int main() {
  for (int threads = -1; threads < 9; ++threads) {
    once_each(0, 5, threads);
    once_each(1, 5, threads);
    once_each(1000, 7, threads);
  }
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([caller] {
      for (int turn = 0; turn < 300; ++turn) {
        once_each(50 + turn, 9, 1 + caller);
        // Helpers fall asleep in between, now and then.
        if (turn % 60 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
  }
  callers.emplace_back(nested, 100);
  for (auto& caller : callers) caller.join();
  try {
    for_blocks(1, 1, 4, [](std::size_t, std::size_t) { throw std::runtime_error("of the body"); });
  } catch (const std::runtime_error&) {
    std::puts("done");
  }
}
"""


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
@pytest.mark.parametrize("sanitizer", ["thread", "address,undefined"])
def test_every_block_is_done_once(
    tmp_path: Path, run_sanitized: Callable[[Path], str], sanitizer: str
) -> None:
    (tmp_path / "main.cpp").write_text(PROGRAM)
    flags = ["-std=c++17", "-O1", "-g", "-Wall", "-Wextra", "-Werror", f"-fsanitize={sanitizer}", "-pthread"]
    command = [str(COMPILER), *flags, f"-I{KERNEL}", "main.cpp", "-o", "main"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert run_sanitized(tmp_path / "main") == "done\n"
