#pragma once
// Work divided among threads in blocks, taken as threads become free. Each block writes its own results.

#include <algorithm>
#include <atomic>
#include <cstddef>

#include "team.hpp"

namespace parkf::transport {

/// Call body(begin, end) for consecutive blocks that cover [0, count).
template <class Body>
void for_blocks(std::size_t count, std::size_t block, int threads, const Body& body) {
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    while (true) {
      const std::size_t begin = next.fetch_add(block);
      if (begin >= count) return;
      body(begin, std::min(begin + block, count));
    }
  };
  const std::size_t blocks = (count + block - 1) / block;
  Team::run(static_cast<int>(std::min<std::size_t>(std::max(threads, 1), blocks)) - 1, work);
}

}  // namespace parkf::transport
