#pragma once
// Which hits a fit uses, and which of them agrees least with the prediction from the hits before it. LHCb's trigger
// searches for outliers in this way.

#include "fit/track.hpp"

namespace parkf::kalman {

/// Smallest number of hits that each detector keeps: VELO, UT, SciFi. The pattern recognition requires as many.
constexpr int fewest_hits[3] = {3, 3, 9};

/// Uses all hits and looks for no outlier.
struct AllHits {
  static constexpr bool leaves_out = false;

  template <class M>
  KERNEL_FUNCTION const M& keeps(int, const M& measured) const {
    return measured;
  }
  template <class M, class T>
  KERNEL_FUNCTION void consider(int, const M&, const T&) {}
};

/// Leaves out hits that were removed before, and finds the worst of the others.
template <class T>
struct OutlierSearch {
  static constexpr bool leaves_out = true;

  Integer<T> removed[2];  // bit s: VELO slot s; UT layers and then SciFi layers
  T worst[3];             // by detector: largest χ² of a hit,
  Integer<T> slot[3];     // its slot, with UT layers behind the VELO's slots, and SciFi layers behind those,
  Integer<T> hits[3];     // and the number of hits

  KERNEL_FUNCTION OutlierSearch(const Integer<T>& velo, const Integer<T>& strips) : removed{velo, strips} {
    for (int d = 0; d < 3; ++d) {
      worst[d] = T(0);
      slot[d] = Integer<T>(-1);
      hits[d] = Integer<T>(0);
    }
  }

  /// Whether the hit of a slot is used, if there is one.
  KERNEL_FUNCTION Mask<T> keeps(int at, const Mask<T>& measured) const {
    const bool strip = at >= velo_slots;
    const int bit = 1 << (strip ? at - velo_slots : at);
    return measured & ((removed[strip] & Integer<T>(bit)) == Integer<T>(0));
  }
  /// Consider a hit that is used, with the χ² of its residual.
  KERNEL_FUNCTION void consider(int at, const Mask<T>& measured, const T& chi2) {
    const int d = at < velo_slots ? 0 : at < velo_slots + ut_layers ? 1 : 2;
    const Mask<T> worse = measured & (chi2 > worst[d]);
    worst[d] = select(worse, chi2, worst[d]);
    slot[d] = select(worse, Integer<T>(at), slot[d]);
    hits[d] = hits[d] + count<T>(measured);
  }
  /// Return χ² and slot of the worst hit in the detectors that may lose a hit; 0 and -1 if none may.
  KERNEL_FUNCTION void choose(T& chi2, Integer<T>& at) const {
    chi2 = T(0);
    at = Integer<T>(-1);
    for (int d = 0; d < 3; ++d) {
      const Mask<T> worse = (Integer<T>(fewest_hits[d]) < hits[d]) & (worst[d] > chi2);
      chi2 = select(worse, worst[d], chi2);
      at = select(worse, slot[d], at);
    }
  }
};

}  // namespace parkf::kalman
