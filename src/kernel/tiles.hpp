#pragma once
// Tracks that run together in the build at hand, whose vectors are PARKF_LANE_BYTES wide (0: one track at a time).

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

/// Let other threads see what went past the caches.
KERNEL_FUNCTION void finish_writing() {
#if defined(__AVX512F__)
  _mm_sfence();
#endif
}

/// Whether a batch is too large for a second-level cache.
template <class S>
KERNEL_FUNCTION bool outgrows_cache(const CandidateRows<S>& tracks) {
  return tracks.count * candidate_numbers * static_cast<long>(sizeof(S)) > 1'000'000;
}

/// The rows of the N tracks after those from `i` on.
template <int N, class S>
KERNEL_FUNCTION Ahead ahead_of(const CandidateRows<S>& tracks, long i) {
  const long next = i + 2 * N <= tracks.count ? i + N : i;
  Ahead ahead;
  for (int q = 0; q < 3; ++q) ahead.velo[q] = tracks.velo[q] + next * velo_slots;
  for (int q = 0; q < 4; ++q) ahead.ut[q] = tracks.ut[q] + next * ut_layers;
  for (int q = 0; q < 4; ++q) ahead.scifi[q] = tracks.scifi[q] + next * scifi_layers;
  return ahead;
}

}  // namespace
}  // namespace parkf::kalman
