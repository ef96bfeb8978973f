#pragma once
// Tracks from anywhere in a batch, next to each other, for processors.

#include "fit/tile.hpp"

namespace parkf::kalman {

/// UT and SciFi hits of n tracks.
template <class S, int n>
struct alignas(64) GatheredStrips {
  S ut[4][n * ut_layers], scifi[4][n * scifi_layers];

  void take_strips(const CandidateRows<S>& all, long row, int lane) {
    for (int q = 0; q < 4; ++q) copy<ut_layers>(all.ut[q], row, ut[q], lane);
    for (int q = 0; q < 4; ++q) copy<scifi_layers>(all.scifi[q], row, scifi[q], lane);
  }
  CandidateRows<S> strips() const {
    CandidateRows<S> here{n, nullptr, nullptr, nullptr, {}, {}, {}};
    for (int q = 0; q < 4; ++q) here.ut[q] = ut[q], here.scifi[q] = scifi[q];
    return here;
  }

 protected:
  template <int slots>
  static void copy(const S* from, long row, S* to, int lane) {
    __builtin_memcpy(to + lane * slots, from + row * slots, slots * sizeof(S));
  }
};

}  // namespace parkf::kalman
