#pragma once
// Tracks that run together in the build at hand, whose vectors are PARKF_LANE_BYTES wide (0: one track at a time).

#include <cstring>

#include "fit_batch.hpp"

namespace parkf::kalman {
namespace {  // compiled anew for each instruction set

#if PARKF_LANE_BYTES == 0
template <class S>
using Together = S;
#else
template <class S>
using Together = Lanes<S, PARKF_LANE_BYTES / sizeof(S)>;
#endif

/// Copy the last tracks of a batch, from `i` on, from quantities of N tracks each, not all of which there are.
template <int N, class S>
KERNEL_FUNCTION void copy_last(const S* from, int rows, long count, long i, S* to) {
  const std::size_t bytes = static_cast<std::size_t>(count - i) * sizeof(S);
  for (int q = 0; q < rows; ++q) std::memcpy(to + q * count + i, from + q * N, bytes);
}

}  // namespace
}  // namespace parkf::kalman
