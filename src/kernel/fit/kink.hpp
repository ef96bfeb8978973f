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
//
// Because the magnet hides its kicks, the hits prefer a step next to it as often as not, and q/p would be wrong by many
// of its errors. So the noise of the magnet is enlarged, too, in proportion to the probability that the kick was there
// (`enlarge`).

#include "fit/later.hpp"
#include "fit/robust.hpp"
#include "fit/treatment.hpp"

namespace parkf::kalman::PARKF_FORMS {

/// The parts of a step's noise that describe a single kick there.
template <class T>
struct Kicks {
  T xtx, txtx, yty, tyty;
};

/// The kick of a track at one step.
template <class T>
struct Kick {
  T k2;      // k_x² + k_y²
  T larger;  // 1 + (k_x² + k_y²)/(I·Q_tt in x + in y): factor on the noise with which such a kick is usual
  T usual;   // Q_tt in x, as the thickness of what was crossed

  KERNEL_FUNCTION Kick() : k2(T(0)), larger(T(1)), usual(T(1)) {}
};

/// The kick in the magnet, and the hardest one at another step.
template <class T>
struct Kink {
  Kick<T> magnet, other;
  Integer<T> slot;  // where the other step ends

  KERNEL_FUNCTION Kink() : slot(-1) {}

  KERNEL_FUNCTION void consider(int step, const Kicks<T>& q, const Later<T>& later) {
    const T zero(0), one(1);
    T shown(0);
    Kick<T> kick;
    kick.k2 = seen<0>(q.xtx, q.txtx, later, shown) + seen<1>(q.yty, q.tyty, later, shown);
    kick.larger = one + kick.k2 / select(shown > zero, shown, one);
    kick.usual = q.txtx;
    if (step == scifi_slots) {
      magnet = kick;
      return;
    }
    const Mask<T> harder = other.k2 < kick.k2;
    other.k2 = select(harder, kick.k2, other.k2);
    other.larger = select(harder, kick.larger, other.larger);
    other.usual = select(harder, kick.usual, other.usual);
    slot = select(harder, Integer<T>(step), slot);
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

/// Enlarge the noise for the kink of a track, if k² is above `least`; return the slot of the more probable step, or -1.
///
/// Hard scatterings are as frequent as matter is thick, that is as the usual Q_tt, and as 1/θ⁴ per solid angle. Between
/// With the likelihood exp(k²/2) of a kick θ, which the hits behind a step measure in x and y to 1/√I, another step gets
/// Q_tt·exp(k²/2)·θ⁻⁴·2π/√(I_x·I_y). In the magnet, x is not measured: the integral of the density over x is π/2·y⁻³. For
/// the same θ ≈ y and I_y, the ratio of both is the one below, because θ·√I_x ≈ k.
template <class S>
KERNEL_FUNCTION int enlarge(const Kink<S>& kink, const S& least, Treatment<S>& treatment) {
  const Kick<S>& magnet = kink.magnet;
  const Kick<S>& other = kink.other;
  if (!(larger(magnet.k2, other.k2) > least)) return -1;
  constexpr double hidden = 0.6267;  // π/2/√(2π)
  const S k = larger(root(other.k2), S(1));
  const S ratio = S(hidden) * k * magnet.usual / other.usual * exponential(S(0.5) * (magnet.k2 - other.k2));
  const S share = ratio < S(1e6) ? ratio / (S(1) + ratio) : S(1);
  treatment.slot = kink.slot;
  treatment.larger = S(1) + (S(1) - share) * (other.larger - S(1));
  treatment.magnet = S(1) + share * (magnet.larger - S(1));
  return share > S(0.5) ? scifi_slots : kink.slot;
}

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

/// Of the tracks from number `i` on that run together; `m` is where the magnet's coefficients are kept meanwhile.
template <class T, class Kept>
KERNEL_FUNCTION Kink<T> find_kink(const Candidates<Scalar<T>>& tracks, long i, const Detector<Scalar<T>>& detector,
                                  const Mask<T>& without_ut, MagnetCoefficients<T, Kept>& m) {
  const T pol = load<T>(tracks.polarity + i);
  Filter<T> fit;
  FirstState<T> first;
  T z_first;
  TreatedRecord<T> record(without_ut);
  forward_velo(tracks, i, detector, pol, fit, first, z_first, record);
  const T qop_variance = record_behind_velo(tracks, i, detector, pol, fit, record, m);
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
