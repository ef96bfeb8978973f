#pragma once
// The forward filter behind the VELO: UT, magnet, SciFi. Besides filtering, each scheme does something of its own with
// a step's Jacobian, with a hit and with a new q/p: its `Memory` has step(jacobian), hit(innovation, slope, p, the
// parabola of the detector's hits so far) and move(change). It also decides which noise is added, scattering(slot,
// noise), and which UT hits are used, ut_hit(measured). It sees the filter behind each UT layer, layer(number, filter).

#include "fit/ahead.hpp"
#include "fit/magnet.hpp"
#include "fit/measurement.hpp"
#include "steps_generated.hpp"
#include "fit/velo.hpp"

namespace parkf::kalman::PARKF_FORMS {

/// One of two parameter sets, chosen by the mask. Both are read, because tracks that run together cannot branch.
template <class T>
struct EitherSet {
  const Scalar<T>* yes;
  const Scalar<T>* no;
  Mask<T> mask;
  KERNEL_FUNCTION T operator[](int i) const { return select(mask, T(yes[i]), T(no[i])); }
};

/// The strip that was hit in a layer: x - dxdy·y at z (at y = 0). Without a hit, z is that of the layer.
template <class T>
struct Strip {
  Mask<T> measured;
  T x, z, dxdy, variance;
  T sigma, off;  // mm; off: of the hit's z from the layer's
};

template <class T>
KERNEL_FUNCTION Strip<T> read_strip(const Scalar<T>* x, const Scalar<T>* z, const Scalar<T>* dxdy,
                                    const Scalar<T>* sigma, long at, const Scalar<T>& nominal_z) {
  Strip<T> strip;
  strip.x = load<T>(x + at);
  strip.measured = finite(strip.x);
  strip.z = select(strip.measured, load<T>(z + at), T(nominal_z));
  strip.dxdy = select(strip.measured, load<T>(dxdy + at), T(0));
  strip.sigma = select(strip.measured, load<T>(sigma + at), T(1));
  strip.variance = strip.sigma * strip.sigma;
  strip.off = strip.z - T(nominal_z);
  return strip;
}

/// Update with a strip; `hits` is the parabola of its detector.
template <class T, class Memory>
KERNEL_FUNCTION void measure(const Strip<T>& strip, Filter<T>& fit, Parabola<T>& hits, Memory& memory) {
  T p[4];
  const auto u = update<0, 1>(strip.measured, strip.x, strip.variance, strip.dxdy, fit, hits, p);
  fit.worst.hit(u, fit.qop_variance);
  memory.hit(u, strip.dxdy, p, hits);
}

template <class T, class Jacobian, class Memory>
KERNEL_FUNCTION void carry(const Jacobian& f, Filter<T>& fit, Memory& memory) {
  transport(f, fit.c);
  total_derivative(f, fit.by_k);
  memory.step(f);
}

/// Change the q/p at which state and χ² are evaluated.
template <class T, class Memory>
KERNEL_FUNCTION void move(const T& change, Filter<T>& fit, Memory& memory) {
  fit.move(change);
  memory.move(change);
}

/// Run the filter from the last VELO hit through the UT layers to z_in. With `begins`, the track begins at the first UT
/// layer, where the filter already is.
template <bool begins = false, class T, class Memory>
KERNEL_FUNCTION void forward_ut(const Candidates<Scalar<T>>& tracks, long i, const Scalar<T>* constant, const T& pol,
                                Filter<T>& fit, Memory& memory) {
  for (int layer = 0; layer < ut_layers; ++layer) {
    Strip<T> strip = read_strip<T>(tracks.ut_x, tracks.ut_z, tracks.ut_dxdy, tracks.ut_sigma,
                                   layer * tracks.stride + i, constant[layout::UTLayer + layer]);
    fit.worst.strip(strip.sigma, strip.off);
    strip.measured = memory.ut_hit(strip.measured);
    Noise<T> q;
    if (layer == 0) {
      if constexpr (!begins) {
        const Scalar<T>* p = constant + layout::VUT;
        JacobianVUT<T> f;
        q = noise_VUT<T>(p, fit.state.k, fit.z, strip.z, fit.state);
        step_VUT<T>(p, pol, fit.z, strip.z, fit.state, f);
        carry(f, fit, memory);
      }
    } else {
      const Scalar<T>* p = constant + layout::UT + (layer - 1) * layout::UT_columns;
      JacobianUT<T> f;
      q = noise_UT<T>(p, fit.state.k, fit.z, strip.z, fit.state);
      step_UT<T>(p, pol, fit.z, strip.z, fit.state, f);
      carry(f, fit, memory);
    }
    if (!begins || layer > 0) add(memory.scattering(ut_slots + layer, q), fit.c);
    fit.z = strip.z;
    if (memory.looks_at(strip.measured)) measure(strip, fit, fit.ut, memory);
    memory.layer(layer, fit);
    fit.ndof_ut = fit.ndof_ut + count<T>(strip.measured);
  }
  // The short step to z_in has neither parameters nor noise: the magnet's noise begins at the last UT layer.
  const T z_in(constant[layout::UTT_META]);
  JacobianUT<T> f;
  step_UT<T>(constant + layout::UT + (ut_layers - 2) * layout::UT_columns, pol, fit.z, z_in, fit.state, f);
  carry(f, fit, memory);
  fit.z = z_in;
}

/// dz/dy of a SciFi layer whose z in the blob is at `place`. The layout is the trigger's, which has dy/dz.
template <class S>
KERNEL_FUNCTION S layer_lean(const S* place) {
  return S(1) / place[layout::TLayer_columns];
}

/// The SciFi hit that a track meets first.
template <class T>
struct FirstHit {
  Mask<T> measured;
  T x, z, dxdy, variance, lean;
};

template <class T>
KERNEL_FUNCTION FirstHit<T> first_scifi_hit(const Candidates<Scalar<T>>& tracks, long i, const Scalar<T>* constant) {
  const T zero(0);
  Mask<T> searching = zero == zero;
  FirstHit<T> first{!searching, zero, zero, zero, T(1), zero};
  for (int layer = 0; layer < scifi_layers && any(searching); ++layer) {
    const Scalar<T>* place = constant + layout::TLayer + layer;
    const Strip<T> strip = read_strip<T>(tracks.scifi_x, tracks.scifi_z, tracks.scifi_dxdy, tracks.scifi_sigma,
                                         layer * tracks.stride + i, place[0]);
    const Mask<T> found = searching & strip.measured;
    first.x = select(found, strip.x, first.x);
    first.z = select(found, strip.z, first.z);
    first.dxdy = select(found, strip.dxdy, first.dxdy);
    first.variance = select(found, strip.variance, first.variance);
    first.lean = select(found, T(layer_lean(place)), first.lean);
    first.measured = first.measured | found;
    searching = searching & !found;
  }
  return first;
}

/// The change of q/p that fits the first SciFi hit and all hits before it, and the `qop_variance` of this q/p. The track is
/// taken as straight behind z_out, and only the error of tx is used. The result is good to a thousandth of q/p; it only
/// chooses the q/p at which the bend is evaluated.
template <class T>
KERNEL_FUNCTION T towards(const FirstHit<T>& hit, const Filter<T>& fit, const BentX<T>& bent, const T& z_in,
                          const T& z_out, T& qop_variance) {
  const State<T>& s = fit.state;
  const T y = s.y + s.ty * (z_out - z_in);
  const T dz = (hit.z + hit.lean * y - z_out) / (T(1) - hit.lean * s.ty), lever = z_out - z_in + dz;
  const T residual = hit.x - (bent.x + bent.tx * dz) + hit.dxdy * (y + s.ty * dz);
  const T by_k = fit.by_k[0] + lever * fit.by_k[2] + bent.x_k + dz * bent.tx_k;
  const T variance = hit.variance + lever * lever * fit.c(2, 2);
  const Parabola<T> known = fit.known();
  const T weight = known.weight * variance + by_k * by_k;
  qop_variance = variance / weight;
  return (known.pull * variance + by_k * residual) / weight;
}

/// Largest number of evaluations of the bend. One is enough for a seed that is right to tens of per cent. A seed of the
/// wrong sign needs two or more, because the bend is not linear in q/p over such a range.
constexpr int newton_rounds = 3;

/// Run the filter from z_in through the magnet to z_out; with `Newton`, the bend is at the q/p of the first SciFi hit.
template <bool Newton, class T, class Memory, class Kept>
KERNEL_FUNCTION void forward_magnet(const Candidates<Scalar<T>>& tracks, long i, const Detector<Scalar<T>>& detector,
                                    const T& pol, MagnetCoefficients<T, Kept>& m, Filter<T>& fit, Memory& memory) {
  const Scalar<T>* constant = detector.constant;
  const Scalar<T>* header = constant + layout::UTT_META;
  const T z_out(header[1]);
  magnet_coefficients(detector.table, header, fit.state, m);
  if constexpr (Newton) {
    const FirstHit<T> hit = first_scifi_hit<T>(tracks, i, constant);
    Mask<T> far = hit.measured;
    T qop_variance = fit.qop_variance;
    for (int round = 0; round < newton_rounds && any(far); ++round) {
      const BentX<T> bent = bent_x(m, constant, pol, fit.state);
      // Tracks that have converged stay as they are while others in the same lanes go on.
      const T change = select(far, towards(hit, fit, bent, T(header[0]), z_out, qop_variance), T(0));
      far = far & (magnitude(change) > T(Scalar<T>(0.5)) * magnitude(fit.state.k));
      move(change, fit, memory);
    }
    fit.qop_variance = select(hit.measured, qop_variance, fit.qop_variance);
  }
  JacobianMagnet<T> f;
  Mask<T> low_momentum;
  const State<T> before = fit.state;
  through_magnet(m, constant, pol, fit.state, f, low_momentum);
  carry(f, fit, memory);
  const Noise<T> q = noise_UTTF<T>(constant + layout::UTTF, fit.state.k, before, fit.state);
  add(memory.scattering(scifi_slots, q), fit.c);
  fit.z = z_out;
  fit.status = fit.status | flag<T>(m.outside, status::outside_table) | flag<T>(low_momentum, status::low_momentum);
}

/// The parameters of a SciFi gap. In forms with two sets for each gap, the sign of y chooses the set.
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

/// Run the filter from z_out through the SciFi layers. The state stays on the leaning planes. With `begins`, the track
/// begins on the first of them, where the filter already is.
template <bool begins = false, class T, class Memory>
KERNEL_FUNCTION void forward_scifi(const Candidates<Scalar<T>>& tracks, long i, const Scalar<T>* constant,
                                   const T& pol, Filter<T>& fit, Memory& memory) {
  for (int layer = 0; layer < scifi_layers; ++layer) {
    if constexpr (Number<T>::lanes > 1) {
      if (tracks.ahead != nullptr) tracks.ahead->template fetch<T>(layer);
    }
    const Scalar<T>* place = constant + layout::TLayer + layer;
    const Strip<T> strip = read_strip<T>(tracks.scifi_x, tracks.scifi_z, tracks.scifi_dxdy, tracks.scifi_sigma,
                                         layer * tracks.stride + i, place[0]);
    fit.worst.strip(strip.sigma, strip.off);
    const T lean(layer_lean(place));
    if (layer == 0) {
      if constexpr (!begins) {
        JacobianTFT<T> f;
        step_TFT<T>(constant + layout::TFT, pol, lean, strip.z, fit.z, fit.state, f);
        carry(f, fit, memory);
      }
    } else {
      const auto p = gap_numbers(constant, layer - 1, fit.state);
      const T lean_before(layer_lean(place - 1));
      JacobianT<T> f;
      const Noise<T> q = noise_T<T>(p, fit.state.k, lean_before, lean, fit.z, strip.z, fit.state);
      step_T<T>(p, pol, lean_before, lean, fit.z, strip.z, fit.state, f);
      carry(f, fit, memory);
      add(memory.scattering(scifi_slots + layer, q), fit.c);
    }
    fit.z = strip.z;
    measure(strip, fit, fit.scifi, memory);
    fit.ndof_scifi = fit.ndof_scifi + count<T>(strip.measured);
  }
  // q/p is a fifth parameter and costs one degree of freedom. The SciFi loses it, because it measures q/p a hundred
  // times better than the UT.
  const Mask<T> none = fit.ndof_scifi == Integer<T>(0), no_ut = fit.ndof_ut == Integer<T>(0);
  fit.ndof_scifi = fit.ndof_scifi + select(none, Integer<T>(0), Integer<T>(-1));
  fit.ndof_ut = fit.ndof_ut + select(none & !no_ut, Integer<T>(-1), Integer<T>(0));
  fit.status = fit.status | flag<T>(none, status::no_scifi_hit) | fit.worst.status();
}

}  // namespace parkf::kalman::PARKF_FORMS
