#pragma once
// Tracks that run together in the build at hand, whose vectors are PARKF_LANE_BYTES wide (0: one track at a time).

#include <cstring>

#include "ahead.hpp"
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

/// Whether a batch is too large for a second-level cache.
template <class S>
KERNEL_FUNCTION bool outgrows_cache(const CandidateRows<S>& tracks) {
  return tracks.count * candidate_numbers * static_cast<long>(sizeof(S)) > 1'000'000;
}

/// What is wanted while the N tracks from `i` on are fitted.
template <int N, class S>
KERNEL_FUNCTION Ahead ahead_of(const Batch<S>& batch, long i, int numbers, int integers) {
  const CandidateRows<S>& tracks = batch.tracks;
  const long next = i + 2 * N <= tracks.count ? i + N : i;
  const auto quantities = [&](const auto* first, int count) {
    return Ahead::Quantities{first + i, tracks.count * static_cast<long>(sizeof(*first)), count};
  };
  Ahead ahead{{}, {}, {}, quantities(batch.numbers, numbers), quantities(batch.integers, integers)};
  for (int q = 0; q < 3; ++q) ahead.velo[q] = tracks.velo[q] + next * velo_slots;
  for (int q = 0; q < 4; ++q) ahead.ut[q] = tracks.ut[q] + next * ut_layers;
  for (int q = 0; q < 4; ++q) ahead.scifi[q] = tracks.scifi[q] + next * scifi_layers;
  return ahead;
}

}  // namespace
}  // namespace parkf::kalman
