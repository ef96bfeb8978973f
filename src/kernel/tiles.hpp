#pragma once
// A range of a batch, tile by tile, in the vectors of the build at hand: PARKF_LANE_BYTES wide (0: one track at a time).

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

/// Tracks begin … end - 1 by fit(tracks, stride, i, numbers, integers), which fits a tile and writes `number_rows`
/// and `integer_rows` quantities from track `i` on.
template <int most_numbers, int integer_rows, class S, class Fit>
KERNEL_FUNCTION void for_tiles(const Batch<S>& batch, long begin, long end, int number_rows, const Fit& fit) {
  using T = Together<S>;
  constexpr int n = Number<T>::lanes;
  const long count = batch.tracks.count;
  Tile<T> tile;
  S last_numbers[most_numbers * n];
  int last_integers[integer_rows * n];
  for (long i = begin; i < end; i += n) {
    fill(batch.tracks, i, tile);
    const bool whole = i + n <= count;  // else the last tracks of the batch
    fit(tile.candidates(), whole ? count : n, whole ? i : 0, whole ? batch.numbers : last_numbers,
        whole ? batch.integers : last_integers);
    if (whole) continue;
    const std::size_t rest = static_cast<std::size_t>(count - i);
    for (int q = 0; q < number_rows; ++q) {
      std::memcpy(batch.numbers + q * count + i, last_numbers + q * n, rest * sizeof(S));
    }
    for (int q = 0; q < integer_rows; ++q) {
      std::memcpy(batch.integers + q * count + i, last_integers + q * n, rest * sizeof(int));
    }
  }
}

}  // namespace
}  // namespace parkf::kalman
