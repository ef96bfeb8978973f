#pragma once
// The hit of a track that agrees least with all its other hits (fixed-interval smoothing). The filter runs forward once
// more and is recorded; `Later` goes back over the record. This part is for the CPU.

#include "fit/later.hpp"

namespace parkf::kalman::PARKF_FORMS {

template <class T>
struct Interval {
  T worst;  // u² of x or y, of all other hits
  Integer<T> worst_slot;  // VELO slots, then UT and SciFi layers; -1: none can be found
};

/// Go backward over `record`, which is at the q/p of the fit with the variance `qop_variance`.
template <class T>
KERNEL_FUNCTION Interval<T> backward(const Record<T>& record, const T& qop_variance) {
  Later<T> later(qop_variance);
  int step = record.steps;
  for (int strip = record.strips - 1; strip >= 0; --strip) later.strip(record, strip, step);
  const T straight(0);
  for (int slot = record.pixels_end - 1; slot >= 2; --slot) {
    const PixelRecord<T>& r = record.pixels[slot];
    later.template hit<1, 0>(slot, r.y, straight);
    later.template hit<0, 1>(slot, r.x, straight);
    later.step(Levers<T>(r.f));
  }
  for (int hit = 0; hit < 4; ++hit) {
    later.start(hit < 2 ? Integer<T>(0) : record.second, record.start[hit]);
  }
  return {later.worst, later.worst_slot};
}

/// Find the worst hits of the tracks from number `i` on that run together.
template <class T>
KERNEL_FUNCTION Interval<T> fit_interval(const Candidates<Scalar<T>>& tracks, long i,
                                         const Detector<Scalar<T>>& detector) {
  const T pol = load<T>(tracks.polarity + i);
  Filter<T> fit;
  Record<T> record(fit);
  const T qop_variance = fit_recorded(tracks, i, detector, pol, fit, record);
  return backward(record, qop_variance);
}

/// Write the tracks that run together to arrays at track `i`.
template <bool past_caches = false, class T>
KERNEL_FUNCTION void store_interval(const Interval<T>& track, long i, Scalar<T>* numbers, int* integers) {
  store<past_caches>(track.worst, numbers + i);
  store_integer<T, past_caches>(track.worst_slot, integers + i);
}

}  // namespace parkf::kalman::PARKF_FORMS
