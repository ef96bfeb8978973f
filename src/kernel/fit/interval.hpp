#pragma once
// The smoother's fit, with the hit of a track that agrees least with all its others (fixed-interval smoothing). The filter
// runs forward and writes down what it does; `Later` goes back over it and compares each hit. `Later` also improves the
// first state, which the forward filter then need not carry along behind the VELO. So the fit takes little longer than the
// plain one. This part is for the CPU.

#include "fit/later.hpp"
#include "fit/smoother.hpp"

namespace parkf::kalman::PARKF_FORMS {

template <class T>
struct Interval {
  Fitted<T> track;
  T worst;                // u² of x or y, of all other hits
  Integer<T> worst_slot;  // VELO slots, then UT and SciFi layers; -1: none can be found
};

/// For the tracks from number `i` on that run together.
template <class T>
KERNEL_FUNCTION Interval<T> fit_interval(const Candidates<Scalar<T>>& tracks, long i,
                                         const Detector<Scalar<T>>& detector) {
  const T pol = load<T>(tracks.polarity + i);
  Filter<T> fit;
  Record<T> record;
  T z_first;
  forward_velo(tracks, i, detector, pol, fit, record.first, z_first, record);
  const T qop_variance = record_behind_velo(tracks, i, detector, pol, fit, record);
  Later<T> later(qop_variance);
  int strip = record.strips - 1;
  for (; strip > halfway; --strip) later.strip(record, strip);
  later.improve_x(record.first);
  for (; strip >= 0; --strip) later.strip(record, strip);
  later.improve_y(record.first);
  later.velo(record);
  // The second hit of the start has a later slot if two hits of the first module have the same z.
  const WorstHit<T>& worst = later.seen;
  const Integer<T> slot = select(worst.slot == Integer<T>(1), record.second, worst.slot);
  return {publish(detector, pol, z_first, record.first, fit, qop_variance), worst.u2, slot};
}

}  // namespace parkf::kalman::PARKF_FORMS
