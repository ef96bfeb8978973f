#pragma once
// Tracks of a batch that run together in this build.

#include "fit/ahead.hpp"
#include "fit/fit_batch.hpp"
#include "numbers/together.hpp"

namespace parkf::kalman {
namespace {  // compiled anew for each instruction set

/// Whether a batch is too large for a second-level cache.
template <class S>
KERNEL_FUNCTION bool outgrows_cache(const CandidateRows<S>& tracks) {
  return tracks.count * candidate_numbers * static_cast<long>(sizeof(S)) > 1'000'000;
}

/// The tracks of a kind from `i` on. If the batch is `large`, the result also has the rows of the next tracks, for
/// prefetching.
template <class T>
KERNEL_FUNCTION Candidates<Scalar<T>> tracks_from(const CandidateRows<Scalar<T>>& rows, long i, bool large,
                                                  Tile<T>& tile, Ahead& ahead, const Kind& kind = kinds[0]) {
  constexpr int n = Number<T>::lanes;
  fill(rows, i, tile, kind);
  Candidates<Scalar<T>> tracks = tile.candidates();
  if (large) {
    const long next = i + 2 * n <= rows.count ? i + n : i;
    for (int q = 0; q < 3; ++q) ahead.velo[q] = rows.velo[q] + next * velo_slots;
    for (int q = 0; q < 4; ++q) ahead.ut[q] = rows.ut[q] + next * ut_layers;
    for (int q = 0; q < 4; ++q) ahead.scifi[q] = rows.scifi[q] + next * scifi_layers;
    ahead.kind = &kind;
    tracks.ahead = &ahead;
  }
  return tracks;
}

}  // namespace
}  // namespace parkf::kalman
