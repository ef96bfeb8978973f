#pragma once
// Work divided among threads in blocks, which start as threads become free. Each block writes its own results. The
// first blocks are long, because rows are prefetched only within a block. The last blocks are short, so that all
// threads end together.

#include <algorithm>
#include <atomic>
#include <cstddef>

#include "threads/team.hpp"

namespace parkf {

/// Call body(begin, end) for consecutive blocks that cover [0, count); begin is a multiple of `unit`.
template <class Body>
void for_blocks(std::size_t count, std::size_t unit, int threads, const Body& body) {
  const std::size_t units = (count + unit - 1) / unit;
  const auto team = std::min<std::size_t>(std::max(threads, 1), units);
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    while (true) {
      std::size_t first = next, taken = 0;
      do {
        if (first >= units) return;
        taken = std::max<std::size_t>((units - first) / (4 * team), 1);
      } while (!next.compare_exchange_weak(first, first + taken));
      body(first * unit, std::min((first + taken) * unit, count));
    }
  };
  Team::run(static_cast<int>(team) - 1, work);
}

}  // namespace parkf
