#pragma once
// Behind the VELO, forward: UT, magnet, SciFi. What is done with a step's Jacobian and with a hit besides
// filtering is the scheme's: `Memory` has step(jacobian) and hit(innovation, slope, p).

#include "magnet.hpp"
#include "measurement.hpp"
#include "steps_generated.hpp"
#include "velo.hpp"

namespace parkf::kalman::PARKF_FORMS {

/// One of two parameter sets, by the mask: both are read, so that tracks stay in step.
template <class T>
struct EitherSet {
  const Scalar<T>* yes;
  const Scalar<T>* no;
  Mask<T> mask;
  KERNEL_FUNCTION T operator[](int i) const { return select(mask, T(yes[i]), T(no[i])); }
};

/// A layer's strip: x - dxdy·y at z (at y = 0), or the layer's place if there is no hit.
template <class T>
struct Strip {
  Mask<T> measured;
  T x, z, dxdy, variance;
};

template <class T>
KERNEL_FUNCTION Strip<T> read_strip(const Scalar<T>* x, const Scalar<T>* z, const Scalar<T>* dxdy,
                                    const Scalar<T>* sigma, long at, const Scalar<T>& nominal_z) {
  Strip<T> strip;
  strip.x = load<T>(x + at);
  strip.measured = finite(strip.x);
  strip.z = select(strip.measured, load<T>(z + at), T(nominal_z));
  strip.dxdy = select(strip.measured, load<T>(dxdy + at), T(0));
  const T width = load<T>(sigma + at);
  strip.variance = select(strip.measured, width * width, T(1));
  return strip;
}

template <class T, class Memory>
KERNEL_FUNCTION T measure(const Strip<T>& strip, Filter<T>& fit, Memory& memory) {
  T p[5];
  const auto u = update<0, 1>(strip.measured, strip.x, strip.variance, strip.dxdy, fit.state, fit.c, p);
  memory.hit(u, strip.dxdy, p);
  return u.chi2;
}

template <class T, class Jacobian, class Memory>
KERNEL_FUNCTION void carry(const Jacobian& f, Filter<T>& fit, Memory& memory) {
  transport(f, fit.c);
  memory.step(f);
}

/// From the last VELO hit through the UT layers to z_in.
template <class T, class Memory>
KERNEL_FUNCTION void forward_ut(const Candidates<Scalar<T>>& tracks, long i, const Scalar<T>* constant, const T& pol,
                                Filter<T>& fit, Memory& memory) {
  for (int layer = 0; layer < ut_layers; ++layer) {
    const Strip<T> strip = read_strip<T>(tracks.ut_x, tracks.ut_z, tracks.ut_dxdy, tracks.ut_sigma,
                                         layer * tracks.stride + i, constant[layout::UTLayer + layer]);
    Noise<T> q;
    if (layer == 0) {
      const Scalar<T>* p = constant + layout::VUT;
      JacobianVUT<T> f;
      q = noise_VUT<T>(p, fit.reference, fit.z, strip.z, fit.state);
      step_VUT<T>(p, pol, fit.z, strip.z, fit.state, f);
      carry(f, fit, memory);
    } else {
      const Scalar<T>* p = constant + layout::UT + (layer - 1) * layout::UT_columns;
      JacobianUT<T> f;
      q = noise_UT<T>(p, fit.reference, fit.z, strip.z, fit.state);
      step_UT<T>(p, pol, fit.z, strip.z, fit.state, f);
      carry(f, fit, memory);
    }
    add(q, fit.c);
    fit.z = strip.z;
    fit.chi2_ut += measure(strip, fit, memory);
    fit.ndof_ut = fit.ndof_ut + count<T>(strip.measured);
  }
  // The short way to z_in has no set and no scattering of its own: the magnet's noise begins behind the UT.
  const T z_in(constant[layout::UTT_META]);
  JacobianUT<T> f;
  step_UT<T>(constant + layout::UT + (ut_layers - 2) * layout::UT_columns, pol, fit.z, z_in, fit.state, f);
  carry(f, fit, memory);
  fit.z = z_in;
}

/// dz/dy of a SciFi layer, whose z in the blob is at `place`; the trigger's layout keeps dy/dz.
template <class S>
KERNEL_FUNCTION S layer_lean(const S* place) {
  return S(1) / place[layout::TLayer_columns];
}

/// q/p after the first SciFi hit, by straight line from z_out: where the bend is to be evaluated.
///
/// `s` is the prediction at z_out by Jacobian `f` of the magnet from a state with covariance `c`; the hit's row of
/// derivatives there is (1, −t, dz, −t·dz, 0).
template <class T>
KERNEL_FUNCTION T better_reference(const Candidates<Scalar<T>>& tracks, long i, const Scalar<T>* constant,
                                   const State<T>& s, const JacobianMagnet<T>& f, const Covariance<T>& c,
                                   const Noise<T>& q, const T& reference) {
  Mask<T> searching = reference == reference;
  T hit(0), z(0), t(0), variance(1), lean(0);
  Mask<T> known = !searching;
  for (int layer = 0; layer < scifi_layers && any(searching); ++layer) {
    const Scalar<T>* place = constant + layout::TLayer + layer;
    const Strip<T> strip = read_strip<T>(tracks.scifi_x, tracks.scifi_z, tracks.scifi_dxdy, tracks.scifi_sigma,
                                         layer * tracks.stride + i, place[0]);
    const Mask<T> found = searching & strip.measured;
    hit = select(found, strip.x, hit);
    z = select(found, strip.z, z);
    t = select(found, strip.dxdy, t);
    variance = select(found, strip.variance, variance);
    lean = select(found, T(layer_lean(place)), lean);
    known = known | found;
    searching = searching & !found;
  }
  const T dz = (z + lean * s.y - T(constant[layout::UTT_META + 1])) / (T(1) - lean * s.ty);
  const T residual = hit - (s.x + s.tx * dz) + t * (s.y + s.ty * dz);
  const T to_tx = dz, to_ty = -t * dz;
  const T row[5] = {T(1), -t, f.x_tx - t * f.y_tx + to_tx * f.tx_tx + to_ty * f.ty_tx,
                    f.x_ty - t * f.y_ty + to_tx * f.tx_ty + to_ty * f.ty_ty,
                    f.x_k - t * f.y_k + to_tx * f.tx_k + to_ty * f.ty_k};
  T with_hit[5];
  T predicted = q.xx + dz * (q.xtx + q.xtx + dz * q.txtx) + t * t * (q.yy + dz * (q.yty + q.yty + dz * q.tyty));
  for (int l = 0; l < 5; ++l) {
    with_hit[l] = c(l, 0) * row[0];
    for (int j = 1; j < 5; ++j) with_hit[l] += c(l, j) * row[j];
    predicted += row[l] * with_hit[l];
  }
  return select(known, s.k + with_hit[4] * residual / (predicted + variance), reference);
}

/// The state at z_out with the slopes that q/p's reference bends to; q/p itself may still be a bad seed's.
template <class T>
KERNEL_FUNCTION State<T> bent_by_reference(const Filter<T>& fit, const JacobianMagnet<T>& f) {
  State<T> s = fit.state;
  const T change = fit.reference - s.k;
  s.tx += f.tx_k * change;
  s.ty += f.ty_k * change;
  return s;
}

/// How often the bend is evaluated anew at most: once for a seed within tens of per cent, twice and more for one of
/// the wrong sign, from which a straight line in q/p leads astray.
constexpr int newton_rounds = 3;

/// From z_in through the magnet to z_out. Newton: evaluate the bend once more, where the first SciFi hit says.
template <bool Newton, class T, class Memory>
KERNEL_FUNCTION void forward_magnet(const Candidates<Scalar<T>>& tracks, long i, const Detector<Scalar<T>>& detector,
                                    const T& pol, Filter<T>& fit, Memory& memory) {
  const Scalar<T>* constant = detector.constant;
  MagnetCoefficients<T> m;
  magnet_coefficients(detector.table, constant + layout::UTT_META, fit.state, m);
  JacobianMagnet<T> f;
  Mask<T> low_momentum;
  const State<T> before = fit.state;
  through_magnet(m, constant, pol, fit.reference, fit.state, f, low_momentum);
  Noise<T> q = noise_UTTF<T>(constant + layout::UTTF, fit.reference, before, bent_by_reference(fit, f));
  if constexpr (Newton) {
    Mask<T> far = fit.reference == fit.reference;
    // Tracks that are done are evaluated again where they are, if another one beside them goes on.
    for (int round = 0; round < newton_rounds && any(far); ++round) {
      const T last = fit.reference;
      const T next = better_reference(tracks, i, constant, fit.state, f, fit.c, q, last);
      fit.reference = select(far, next, last);
      far = far & (magnitude(next - last) > T(Scalar<T>(0.5)) * magnitude(last));
      fit.state = before;
      through_magnet(m, constant, pol, fit.reference, fit.state, f, low_momentum);
      q = noise_UTTF<T>(constant + layout::UTTF, fit.reference, before, bent_by_reference(fit, f));
    }
  }
  carry(f, fit, memory);
  add(q, fit.c);
  fit.z = T(constant[layout::UTT_META + 1]);
  fit.status = fit.status | flag<T>(m.outside, status::outside_table) | flag<T>(low_momentum, status::low_momentum);
}

/// The numbers of a SciFi gap: forms with two sets a gap choose by the sign of y.
template <class T>
KERNEL_FUNCTION auto gap_numbers(const Scalar<T>* constant, int gap, const State<T>& s) {
  constexpr int sets = layout::T_sets / (scifi_layers - 1);
  const Scalar<T>* p = constant + layout::T + gap * sets * layout::T_columns;
  if constexpr (sets == 1) {
    (void)s;
    return p;
  } else {
    return EitherSet<T>{p + layout::T_columns, p, s.y < T(0)};
  }
}

/// From z_out through the SciFi layers. The state stays on the leaning planes.
template <class T, class Memory>
KERNEL_FUNCTION void forward_scifi(const Candidates<Scalar<T>>& tracks, long i, const Scalar<T>* constant,
                                   const T& pol, Filter<T>& fit, Memory& memory) {
  for (int layer = 0; layer < scifi_layers; ++layer) {
    const Scalar<T>* place = constant + layout::TLayer + layer;
    const Strip<T> strip = read_strip<T>(tracks.scifi_x, tracks.scifi_z, tracks.scifi_dxdy, tracks.scifi_sigma,
                                         layer * tracks.stride + i, place[0]);
    const T lean(layer_lean(place));
    if (layer == 0) {
      JacobianTFT<T> f;
      step_TFT<T>(constant + layout::TFT, pol, lean, strip.z, fit.z, fit.state, f);
      carry(f, fit, memory);
    } else {
      const auto p = gap_numbers(constant, layer - 1, fit.state);
      const T lean_before(layer_lean(place - 1));
      JacobianT<T> f;
      const Noise<T> q = noise_T<T>(p, fit.reference, lean_before, lean, fit.z, strip.z, fit.state);
      step_T<T>(p, pol, lean_before, lean, fit.z, strip.z, fit.state, f);
      carry(f, fit, memory);
      add(q, fit.c);
    }
    fit.z = strip.z;
    fit.chi2_scifi += measure(strip, fit, memory);
    fit.ndof_scifi = fit.ndof_scifi + count<T>(strip.measured);
  }
  // q/p is a fifth unknown. UT measures it first, better than the prior says; without UT hits SciFi does.
  const Mask<T> none = fit.ndof_scifi == Integer<T>(0), no_ut = fit.ndof_ut == Integer<T>(0);
  const Integer<T> by_scifi = select(none, Integer<T>(0), Integer<T>(-1));
  fit.ndof_scifi = fit.ndof_scifi + select(no_ut, by_scifi, Integer<T>(0));
  fit.ndof_ut = fit.ndof_ut + select(no_ut, Integer<T>(0), Integer<T>(-1));
  fit.status = fit.status | flag<T>(none, status::no_scifi_hit);
}

}  // namespace parkf::kalman::PARKF_FORMS
