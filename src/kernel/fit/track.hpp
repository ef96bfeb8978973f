#pragma once
// Candidates and fitted tracks as structures of arrays, so that neighbouring tracks are read together.

#include "fit/status.hpp"
#include "numbers/number.hpp"

namespace parkf::kalman {

constexpr int velo_slots = 26;
constexpr int ut_layers = 4;
constexpr int scifi_layers = 12;
constexpr int candidate_numbers = 3 * velo_slots + 4 * ut_layers + 4 * scifi_layers;  // of its hits

struct Ahead;

/// Candidates. Hits lie as (slot, track) with `stride` tracks a slot.
/// Lengths in mm; slots without a hit hold NaN. S is the scalar type of the fit.
template <class S>
struct Candidates {
  long stride;
  const S* polarity;  // +1 MagUp, -1 MagDown
  const S* qop;       // the pattern recognition's, 1/MeV
  const int* velo_n;
  const S* velo_x;  // ascending z
  const S* velo_y;
  const S* velo_z;
  const S* ut_x;  // of the strip at y = 0
  const S* ut_z;
  const S* ut_dxdy;
  const S* ut_sigma;
  const S* scifi_x;  // of the fibre at y = 0
  const S* scifi_z;  // at y = 0
  const S* scifi_dxdy;
  const S* scifi_sigma;
  const Ahead* ahead = nullptr;  // rows to prefetch while these tracks are fitted, on the CPU
};

/// Candidates as they are in tables: each track has a row of slots.
template <class S>
struct CandidateRows {
  long count;
  const S* polarity;
  const S* qop;
  const int* velo_n;
  const S* velo[3];   // x, y, z: (track, velo_slots)
  const S* ut[4];     // x, z, dxdy, sigma: (track, ut_layers)
  const S* scifi[4];  // (track, scifi_layers)

  /// Track i alone, whose rows are arrays of (slot, track) with one track.
  KERNEL_FUNCTION Candidates<S> one(long i) const {
    const long v = i * velo_slots, u = i * ut_layers, s = i * scifi_layers;
    return {1,         polarity + i, qop + i,   velo_n + i,   velo[0] + v,  velo[1] + v,  velo[2] + v, ut[0] + u,
            ut[1] + u, ut[2] + u,    ut[3] + u, scifi[0] + s, scifi[1] + s, scifi[2] + s, scifi[3] + s};
  }
};

/// Data that all tracks use.
template <class S>
struct Detector {
  const S* constant;   // the constant blob
  const float* table;  // the magnet table, (bin x, bin y, coefficient)
  S velo_variance;     // of a pixel hit in x and in y, mm²
  S beam_x, beam_y;    // mm
  S velo_loss = 0;     // loss of momentum in each VELO module, MeV, where the magnet table does not include it
  S foil = 1;          // 0: tracks are born behind the foil around the beam, and cross half a module before the first hit
};

/// A fitted track at its closest approach to the beam line.
template <class T>
struct Fitted {
  T z, x, y, tx, ty, qop;
  T xx, xtx, txtx, yy, yty, tyty, qopqop;
  T chi2_velo, chi2_ut, chi2_scifi;
  Integer<T> ndof_velo, ndof_ut, ndof_scifi;
  Integer<T> status;  // status.hpp
};

constexpr int fitted_numbers = 16;   // of Fitted: the numbers from z to chi2_scifi,
constexpr int fitted_integers = 4;   // and its integers,
constexpr int status_row = 3;        // of which this one is the status

/// Load a number of each track that runs together; the first one is at `source`.
template <class T>
KERNEL_FUNCTION T load(const Scalar<T>* source) {
  if constexpr (Number<T>::lanes == 1) {
    return *source;
  } else {
    T result;
    __builtin_memcpy(&result, source, sizeof(T));
    return result;
  }
}

template <class T>
KERNEL_FUNCTION Integer<T> load_integer(const int* source) {
  if constexpr (Number<T>::lanes == 1) {
    return *source;
  } else {
    Integer<T> result;
    for (int i = 0; i < Number<T>::lanes; ++i) result.bits[i] = source[i];
    return result;
  }
}

/// Write the values of tracks that run together. `past_caches` is for results that the caches cannot hold until they
/// are read.
template <bool past_caches = false, class T>
KERNEL_FUNCTION void store(const T& value, Scalar<T>* target) {
  if constexpr (Number<T>::lanes == 1) {
    *target = value;
  } else if constexpr (past_caches) {
    stream(value, target);
  } else {
    __builtin_memcpy(target, &value, sizeof(T));
  }
}

template <class T, bool past_caches = false>
KERNEL_FUNCTION void store_integer(const Integer<T>& value, int* target) {
  if constexpr (Number<T>::lanes == 1) {
    *target = value;
  } else if constexpr (past_caches) {
    stream(value, target);
  } else {
    for (int i = 0; i < Number<T>::lanes; ++i) target[i] = static_cast<int>(value.bits[i]);
  }
}

/// Write the tracks that run together to (quantity, track) arrays at track `i`.
template <bool past_caches = false, class T>
KERNEL_FUNCTION void store(const Fitted<T>& track, long stride, long i, Scalar<T>* numbers, int* integers) {
  const T values[fitted_numbers] = {track.z,   track.x,    track.y,    track.tx,     track.ty,  track.qop,
                                    track.xx,  track.xtx,  track.txtx, track.yy,     track.yty, track.tyty,
                                    track.qopqop, track.chi2_velo, track.chi2_ut, track.chi2_scifi};
  for (int n = 0; n < fitted_numbers; ++n) store<past_caches>(values[n], numbers + n * stride + i);
  store_integer<T, past_caches>(track.ndof_velo, integers + i);
  store_integer<T, past_caches>(track.ndof_ut, integers + stride + i);
  store_integer<T, past_caches>(track.ndof_scifi, integers + 2 * stride + i);
  store_integer<T, past_caches>(track.status, integers + 3 * stride + i);
}

/// Return one where the mask holds, for counting.
template <class T>
KERNEL_FUNCTION Integer<T> count(const Mask<T>& mask) {
  return select(mask, Integer<T>(1), Integer<T>(0));
}

/// Return the status bit where the mask holds.
template <class T>
KERNEL_FUNCTION Integer<T> flag(const Mask<T>& mask, int bit) {
  return select(mask, Integer<T>(bit), Integer<T>(0));
}

}  // namespace parkf::kalman
