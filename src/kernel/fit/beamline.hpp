#pragma once
// The step from the first VELO hit to the closest approach to the beam line, where a track is published.

#include "steps_generated.hpp"
#include "fit/track.hpp"
#include "fit/velo.hpp"

namespace parkf::kalman::PARKF_FORMS {

/// Add the uncertainty of q/p to covariances at given q/p; by_k are derivatives of x, y, tx, ty with respect to q/p.
template <class T>
KERNEL_FUNCTION void free_qop(const T* by_k, const T& variance, Fitted<T>& track) {
  track.xx += by_k[0] * by_k[0] * variance;
  track.xtx += by_k[0] * by_k[2] * variance;
  track.txtx += by_k[2] * by_k[2] * variance;
  track.yy += by_k[1] * by_k[1] * variance;
  track.yty += by_k[1] * by_k[3] * variance;
  track.tyty += by_k[3] * by_k[3] * variance;
  track.qopqop = variance;
}

/// Whether a result is finite, and its variances positive.
template <class T>
KERNEL_FUNCTION Integer<T> quality(const Fitted<T>& track) {
  const T zero(0);
  const Mask<T> positive = (track.xx > zero) & (track.txtx > zero) & (track.yy > zero) & (track.tyty > zero) &
                           (track.qopqop > zero);
  const T all = track.x + track.y + track.z + track.tx + track.ty + track.qop + track.xx + track.xtx + track.txtx +
                track.yy + track.yty + track.tyty + track.qopqop + track.chi2_velo + track.chi2_ut +
                track.chi2_scifi;
  const Mask<T> good = finite(all);
  return flag<T>(!good, status::non_finite) | flag<T>(good & !positive, status::negative_variance);
}

/// Return q/p at production of tracks with q/p `k` in the fit. The magnet table includes the mean loss of momentum of
/// tracks from the beam. With `velo_loss`, it includes no loss in VELO modules, since tracks cross different numbers of
/// them.
template <class T>
KERNEL_FUNCTION T at_production(const Detector<Scalar<T>>& detector, const Integer<T>& ndof_velo, const T& k) {
  using S = Scalar<T>;
  const S before = detector.constant[layout::BEAM + layout::BEAM_columns + 3];  // mean loss before the first hit, MeV
  const S in_foil = before - S(0.5) * detector.velo_loss;
  const T modules = T(S(0.5)) * Number<T>::of(ndof_velo) + T(S(2));
  const T loss = T(detector.velo_loss) * modules - T((S(1) - detector.foil) * in_foil);
  return k / (T(S(1)) + loss * magnitude(k));
}

/// Return the scattering between the beam line and the first hit, which is `dz` away from it. A track that is born
/// behind the foil crosses half of the first module before its hit: half of the scattering between two hits.
template <class T>
KERNEL_FUNCTION Noise<T> before_first_hit(const Detector<Scalar<T>>& detector, const T& dz, const Fitted<T>& track,
                                          const State<T>& s) {
  const Scalar<T>* between = detector.constant + layout::BEAM;
  const T z = track.z + dz;
  if (detector.foil != Scalar<T>(0)) return noise_BEAM<T>(between + layout::BEAM_columns, track.qop, track.z, z, s);
  const Noise<T> q = noise_BEAM<T>(between, track.qop, track.z, z, s);
  const T half(Scalar<T>(0.5)), x = half * q.txtx, y = half * q.tyty;
  return {dz * dz * x, dz * x, x, dz * dz * y, dz * y, y};
}

/// Carry a track to the beam line, with the scattering before the first hit.
///
/// The z is that of the straight line, but on the way there the state bends as between VELO hits. A straight step would
/// leave a shift of a fifth of the scattering, with the sign of the charge. `track` has state and covariance at the
/// first hit, and is carried to the beam line. Counts and χ² come from `fit`.
template <class T>
KERNEL_FUNCTION void to_beamline(const Detector<Scalar<T>>& detector, const T& pol, const Filter<T>& fit,
                                 Fitted<T>& track) {
  const T tx2 = track.tx * track.tx, ty2 = track.ty * track.ty;
  const T dz = ((T(detector.beam_x) - track.x) * track.tx + (T(detector.beam_y) - track.y) * track.ty) / (tx2 + ty2);
  State<T> s{track.x, track.y, track.tx, track.ty, track.qop};
  const T z = track.z + dz;
  const Noise<T> q = before_first_hit(detector, dz, track, s);
  JacobianV<T> f;
  // The step evaluates the field at its end closer to the beam spot. That is right over the 30 mm between hits; over
  // half a metre the bend of steep tracks would be a quarter too small, so the field in the middle is used.
  const T half = T(Scalar<T>(0.5)) * magnitude(dz);
  step_V<T>(detector.constant + layout::V + layout::V_columns, pol, track.z + half, z + half, s, f);
  track.x = s.x;
  track.y = s.y;
  track.tx = s.tx;
  track.z = z;
  track.xx += dz * (track.xtx + track.xtx + dz * track.txtx) + q.xx;
  track.xtx += dz * track.txtx + q.xtx;
  track.txtx += q.txtx;
  track.yy += dz * (track.yty + track.yty + dz * track.tyty) + q.yy;
  track.yty += dz * track.tyty + q.yty;
  track.tyty += q.tyty;

  track.chi2_velo = fit.velo.chi2;
  track.chi2_ut = fit.ut.chi2;
  track.chi2_scifi = fit.scifi.chi2;
  track.ndof_velo = fit.ndof_velo;
  track.ndof_ut = fit.ndof_ut;
  track.ndof_scifi = fit.ndof_scifi;
  track.status = fit.status | quality(track);
}

}  // namespace parkf::kalman::PARKF_FORMS
