#pragma once
// A few candidates, turned from rows of slots into the order that the fit reads: one track in each lane. A tile stays
// in the first-level cache, and a whole batch is never copied.

#include "fit/kind.hpp"
#include "fit/track.hpp"
#include "numbers/lanes.hpp"

namespace parkf::kalman {

/// The tracks that run together.
template <class T>
struct alignas(64) Tile {
  static constexpr int lanes = Number<T>::lanes;
  Scalar<T> velo[3 * velo_slots * lanes], ut[4 * ut_layers * lanes], scifi[4 * scifi_layers * lanes];
  Scalar<T> polarity[lanes], qop[lanes];
  int velo_n[lanes];

  Candidates<Scalar<T>> candidates() const {
    constexpr int v = velo_slots * lanes, u = ut_layers * lanes, s = scifi_layers * lanes;
    return {lanes,  polarity,   qop,        velo_n, velo,      velo + v,      velo + 2 * v, ut,
            ut + u, ut + 2 * u, ut + 3 * u, scifi,  scifi + s, scifi + 2 * s, scifi + 3 * s};
  }
};

/// Read the last `left` tracks, which are fewer than the lanes; the other lanes repeat the last track.
template <class T>
KERNEL_FUNCTION void fill_last(const CandidateRows<Scalar<T>>& rows, long begin, int left, Tile<T>& tile) {
  constexpr int n = Number<T>::lanes;
  for (int lane = 0; lane < n; ++lane) {
    const long at = begin + (lane < left ? lane : left - 1);
    tile.polarity[lane] = rows.polarity[at];
    tile.qop[lane] = rows.qop[at];
    tile.velo_n[lane] = rows.velo_n[at];
    const auto copy = [at, lane](const Scalar<T>* source, int slots, Scalar<T>* target) {
      for (int slot = 0; slot < slots; ++slot) target[slot * n + lane] = source[at * slots + slot];
    };
    for (int q = 0; q < 3; ++q) copy(rows.velo[q], velo_slots, tile.velo + q * velo_slots * n);
    for (int q = 0; q < 4; ++q) copy(rows.ut[q], ut_layers, tile.ut + q * ut_layers * n);
    for (int q = 0; q < 4; ++q) copy(rows.scifi[q], scifi_layers, tile.scifi + q * scifi_layers * n);
  }
}

/// Read the UT and SciFi hits of the tracks from number `begin` on, of the detectors of their kind. There are at least as
/// many tracks as lanes.
template <class T>
KERNEL_FUNCTION void fill_strips(const CandidateRows<Scalar<T>>& rows, long begin, Tile<T>& tile,
                                 const Kind& kind = kinds[0]) {
  constexpr int n = Number<T>::lanes;
  for (int q = 0; q < 4; ++q) {
    if (kind.ut) turn<T, ut_layers>(rows.ut[q] + begin * ut_layers, ut_layers, tile.ut + q * ut_layers * n);
    if (kind.scifi) {
      turn<T, scifi_layers>(rows.scifi[q] + begin * scifi_layers, scifi_layers, tile.scifi + q * scifi_layers * n);
    }
  }
}

/// Read the tracks from number `begin` on, with their hits in the detectors of their kind.
template <class T>
KERNEL_FUNCTION void fill(const CandidateRows<Scalar<T>>& rows, long begin, Tile<T>& tile,
                          const Kind& kind = kinds[0]) {
  constexpr int n = Number<T>::lanes;
  if (rows.count - begin < n) {
    fill_last(rows, begin, static_cast<int>(rows.count - begin), tile);
    return;
  }
  __builtin_memcpy(tile.polarity, rows.polarity + begin, sizeof(tile.polarity));
  __builtin_memcpy(tile.qop, rows.qop + begin, sizeof(tile.qop));
  __builtin_memcpy(tile.velo_n, rows.velo_n + begin, sizeof(tile.velo_n));
  // The fit starts from the first slot even where there is no hit in it.
  int used = 1;
  for (const int hits : tile.velo_n) used = used < hits ? hits : used;
  if (used > velo_slots) used = velo_slots;
  for (int q = 0; kind.velo && q < 3; ++q) {
    turn<T, velo_slots>(rows.velo[q] + begin * velo_slots, used, tile.velo + q * velo_slots * n);
  }
  fill_strips(rows, begin, tile, kind);
}

}  // namespace parkf::kalman
