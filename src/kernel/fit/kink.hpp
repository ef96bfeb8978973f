#pragma once
// The step behind the VELO at which a track scattered hardest. Kicks in the VELO do not change q/p.
//
// A kick at a step, with the correlations of its noise, displaces the state behind it along v = (Q_xt/Q_tt, 1) in x,
// tx, and likewise in y, ty. ρ and N include all later hits and, through the covariance, all earlier ones. Then k =
// v·ρ/√I, with I = vᵀNv − (v·∂ρ)²σ²(q/p) because q/p is free. If the track scattered with the assumed noise only, k
// follows a standard normal distribution. With a free kick there, the χ² of the fit is smaller by k².
//
// A hard scatter has the same expected square in x and in y. In the magnet its x is hidden, because q/p describes it as
// well: I is next to 0. So one factor enlarges both, and the plane that shows more determines it.

#include "fit/later.hpp"
#include "fit/treatment.hpp"

namespace parkf::kalman::PARKF_FORMS {

/// The parts of a step's noise that describe a single kick there.
template <class T>
struct Kicks {
  T xtx, txtx, yty, tyty;
};

/// The hardest kick found so far.
template <class T>
struct Kink {
  T k2;             // k_x² + k_y²
  Integer<T> slot;  // where its step ends
  T larger;         // 1 + (k_x² + k_y²)/(I·Q_tt in x + in y): factor on the noise with which such a kick is usual

  KERNEL_FUNCTION Kink() : k2(T(0)), slot(-1), larger(T(1)) {}

  KERNEL_FUNCTION void consider(int step, const Kicks<T>& q, const Later<T>& later) {
    const T zero(0), one(1);
    T shown(0);
    const T both = seen<0>(q.xtx, q.txtx, later, shown) + seen<1>(q.yty, q.tyty, later, shown);
    const Mask<T> harder = k2 < both;
    k2 = select(harder, both, k2);
    slot = select(harder, Integer<T>(step), slot);
    larger = select(harder, one + both / select(shown > zero, shown, one), larger);
  }

 private:
  /// k² of component A and its slope, computed with v·Q_tt; I·Q_tt is added to `shown`.
  template <int A>
  KERNEL_FUNCTION static T seen(const T& shared, const T& variance, const Later<T>& later, T& shown) {
    const T zero(0), one(1);
    const T score = shared * later.rho[A] + variance * later.rho[2 + A];
    const T by_k = shared * later.by_k[A] + variance * later.by_k[2 + A];
    const Covariance<T>& n = later.n;
    const T across = variance * n(2 + A, A);
    const T information = shared * (shared * n(A, A) + across + across) + variance * variance * n(2 + A, 2 + A) -
                          by_k * by_k * later.qop_variance;
    const Mask<T> told = (variance > zero) & (information > zero);
    shown += select(told, information / select(told, variance, one), zero);
    return select(told, score * score / select(told, information, one), zero);
  }
};

/// Writes down a fit of a treated track, and the noise of its steps.
template <class T>
struct TreatedRecord : StripsRecord<T> {
  Mask<T> without_ut;
  Kicks<T> kicks[StripsRecord<T>::strips];

  KERNEL_FUNCTION explicit TreatedRecord(const Mask<T>& without_ut) : without_ut(without_ut) {}
  KERNEL_FUNCTION Mask<T> ut_hit(const Mask<T>& measured) { return measured & !without_ut; }
  KERNEL_FUNCTION Noise<T> scattering(int slot, const Noise<T>& q) {
    if (slot >= ut_slots) kicks[slot - ut_slots] = {q.xtx, q.txtx, q.yty, q.tyty};
    return q;
  }
};

/// Backward over `record`, whose q/p is the fit's, known to `qop_variance`.
template <class T>
KERNEL_FUNCTION Kink<T> hardest_kink(const TreatedRecord<T>& record, const T& qop_variance) {
  Kink<T> kink;
  Later<T> later(qop_variance);
  for (int strip = record.strips - 1; strip >= 0; --strip) {
    later.strip(record, strip, [&] { kink.consider(ut_slots + strip, record.kicks[strip], later); });
  }
  return kink;
}

/// Of the tracks from number `i` on that run together.
template <class T>
KERNEL_FUNCTION Kink<T> find_kink(const Candidates<Scalar<T>>& tracks, long i, const Detector<Scalar<T>>& detector,
                                  const Mask<T>& without_ut) {
  const T pol = load<T>(tracks.polarity + i);
  Filter<T> fit;
  FirstState<T> first;
  T z_first;
  TreatedRecord<T> record(without_ut);
  forward_velo(tracks, i, detector, pol, fit, first, z_first, record);
  const T qop_variance = record_behind_velo(tracks, i, detector, pol, fit, record);
  return hardest_kink(record, qop_variance);
}

/// The same, continued from `velo`, the stored fit at the last VELO hit.
template <class T>
KERNEL_FUNCTION Kink<T> find_kink(const Candidates<Scalar<T>>& tracks, long i, const Detector<Scalar<T>>& detector,
                                  const Mask<T>& without_ut, const Scalar<T>* velo) {
  Filter<T> fit;
  FirstState<T> first;
  T z_first;
  restore_after_velo(velo, fit, first, z_first);
  TreatedRecord<T> record(without_ut);
  const T qop_variance = record_behind_velo(tracks, i, detector, load<T>(tracks.polarity + i), fit, record);
  return hardest_kink(record, qop_variance);
}

}  // namespace parkf::kalman::PARKF_FORMS
