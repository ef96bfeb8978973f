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

/// The number of a track, and bits of the hits that it has lost: VELO slots; UT and SciFi layers.
struct LostHits {
  long row;
  int velo, strips;

  int count() const { return __builtin_popcount(velo) + __builtin_popcount(strips); }
  /// Lose the hit of a slot, which is counted among the hits that are left: later VELO hits have moved up.
  void add(int slot) {
    if (slot >= velo_slots) {
      strips |= 1 << (slot - velo_slots);
      return;
    }
    for (int before = 0; before <= slot; ++before) slot += velo >> before & 1;
    velo |= 1 << slot;
  }
};

/// All of n tracks but the hits that they have lost.
template <class S, int n>
struct Gathered : GatheredStrips<S, n> {
  S velo[3][n * velo_slots] = {}, polarity[n], qop[n];
  int velo_n[n];

  void take(const CandidateRows<S>& all, const LostHits& track, int lane) {
    polarity[lane] = all.polarity[track.row];
    qop[lane] = all.qop[track.row];
    velo_n[lane] = all.velo_n[track.row] - __builtin_popcount(track.velo);
    for (int q = 0; q < 3; ++q) {
      const S* from = all.velo[q] + track.row * velo_slots;
      S* to = velo[q] + lane * velo_slots;
      if (track.velo == 0) {
        __builtin_memcpy(to, from, velo_slots * sizeof(S));
        continue;
      }
      for (int slot = 0; slot < velo_slots; ++slot) {
        if ((track.velo >> slot & 1) == 0) *to++ = from[slot];
      }
    }
    this->take_strips(all, track.row, lane);
    const S none = static_cast<S>(__builtin_nanf(""));
    for (int layer = 0; layer < ut_layers; ++layer) {
      if (track.strips >> layer & 1) this->ut[0][lane * ut_layers + layer] = none;
    }
    for (int layer = 0; layer < scifi_layers; ++layer) {
      if (track.strips >> (ut_layers + layer) & 1) this->scifi[0][lane * scifi_layers + layer] = none;
    }
  }
  CandidateRows<S> rows() const {
    CandidateRows<S> here = this->strips();
    here.polarity = polarity;
    here.qop = qop;
    here.velo_n = velo_n;
    for (int q = 0; q < 3; ++q) here.velo[q] = velo[q];
    return here;
  }
};

}  // namespace parkf::kalman
