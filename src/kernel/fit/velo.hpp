#pragma once
// The forward filter in the VELO: it starts from two hits, then filters the others.

#include "fit/measurement.hpp"
#include "steps_generated.hpp"
#include "fit/track.hpp"

namespace parkf::kalman::PARKF_FORMS {

/// Relative width of the pattern recognition's q/p, chosen wide: 30%. This prior fixes q/p where no hit measures it.
constexpr double seed_width = 0.3;

/// Steps with scattering are numbered by the slot where they end: VELO slots, then UT and SciFi layers. The step that
/// ends at the first SciFi layer is the one through the magnet.
constexpr int ut_slots = velo_slots, scifi_slots = ut_slots + ut_layers, all_slots = scifi_slots + scifi_layers;

/// Memory of a scheme that changes neither noise nor hits.
template <class T>
struct AsTheyAre {
  KERNEL_FUNCTION Noise<T> scattering(int, const Noise<T>& q) { return q; }
  KERNEL_FUNCTION Mask<T> ut_hit(const Mask<T>& measured) { return measured; }
  /// Whether the filter visits a UT layer in which some of these tracks have a hit that is used.
  KERNEL_FUNCTION bool looks_at(const Mask<T>&) { return true; }
  /// The filter behind the hit of a UT layer.
  template <class Fit>
  KERNEL_FUNCTION void layer(int, const Fit&) {}
};

/// The worst values among a track's hits, to recognise impossible hits. NaN is not searched for, because it shows in
/// the result.
template <class T>
struct Worst {
  T sigma, off2;  // the smallest σ; distances from the layers' z, squared and summed, mm²
  T step;         // the smallest between neighbouring VELO hits in z, mm
  T far;          // by how much χ² of a hit exceeds far_chi2 at most; for strips, times a positive number

  KERNEL_FUNCTION Worst() : sigma(T(1)), off2(T(0)), step(T(0)), far(T(0)) {}
  KERNEL_FUNCTION void strip(const T& its_sigma, const T& its_off) {
    sigma = smaller(its_sigma, sigma);
    off2 += its_off * its_off;
  }
  KERNEL_FUNCTION void hit(const T& chi2) { far = larger(far, T(chi2 - limit())); }
  /// A hit with an innovation at a q/p that is known to `variance`: with S of u.weight = 1/S, its residual has the variance
  /// S + slope²·variance.
  KERNEL_FUNCTION void hit(const Innovation<T>& u, const T& variance) {
    far = larger(far, T(u.pull * u.pull - limit() * (u.weight + u.by_k * u.by_k * variance)));
  }
  KERNEL_FUNCTION Integer<T> status() const {
    return flag<T>(far > T(0), status::far_hit) | flag<T>(at_most(sigma, T(0)), status::wrong_sigma) |
           flag<T>(off2 > T(static_cast<Scalar<T>>(plane_tolerance * plane_tolerance)), status::wrong_plane) |
           flag<T>(step < T(0), status::velo_unsorted);
  }

 private:
  KERNEL_FUNCTION static T limit() { return T(static_cast<Scalar<T>>(far_chi2)); }
};

/// The quantities that a fit carries from plane to plane. Noise and bend are evaluated at the state's q/p.
template <class T>
struct Filter : Conditional<T> {
  T z;
  Parabola<T> seed, velo, ut, scifi;  // what is known of q/p, by its source
  T qop_variance;  // of the q/p of the state, from the hits that it was chosen by
  Integer<T> ndof_velo, ndof_ut, ndof_scifi;
  Integer<T> status;
  Worst<T> worst;

  KERNEL_FUNCTION Parabola<T> known() const { return seed + velo + (ut + scifi); }
  KERNEL_FUNCTION void move(const T& change) {
    Conditional<T>::move(change);
    seed.move(change);
    velo.move(change);
    ut.move(change);
    scifi.move(change);
  }
};

template <class T>
KERNEL_FUNCTION Noise<T> where(const Mask<T>& mask, const Noise<T>& q) {
  const T zero(0);
  return {select(mask, q.xx, zero), select(mask, q.xtx, zero), select(mask, q.txtx, zero),
          select(mask, q.yy, zero), select(mask, q.yty, zero), select(mask, q.tyty, zero)};
}

/// Set all quantities to zero that are zero at the start of a fit.
template <class T>
KERNEL_FUNCTION void clear(Filter<T>& fit, FirstState<T>& first) {
  const T zero(0);
  for (int l = 0; l < 4; ++l) fit.by_k[l] = first.by_k[l] = zero;
  for (T& element : fit.c.elements) element = zero;
  for (auto& row : first.cross) {
    for (T& element : row) element = zero;
  }
  fit.seed = fit.velo = fit.ut = fit.scifi = Parabola<T>::nothing();
  fit.ndof_velo = fit.ndof_ut = fit.ndof_scifi = Integer<T>(0);
}

/// Start at the second of the first two hits at different z, and return its slot. Hits up to this slot are used.
///
/// Let Δ be the distance of the two hits m₁ and m₂, each with variance R, κ·k the bend between them, and Q the
/// scattering. Then x = m₂ and tx = (m₂ − m₁)/Δ + ½κk at the second hit, and tx = (m₂ − m₁)/Δ − ½κk at the first.
template <class T>
KERNEL_FUNCTION Integer<T> start_velo(const Candidates<Scalar<T>>& tracks, long i, const Detector<Scalar<T>>& detector,
                                      const T& pol, Filter<T>& fit, FirstState<T>& first, T& z_first) {
  using S = Scalar<T>;
  const Integer<T> n = load_integer<T>(tracks.velo_n + i);
  const T x1 = load<T>(tracks.velo_x + i), y1 = load<T>(tracks.velo_y + i), z1 = load<T>(tracks.velo_z + i);
  T x2 = x1, y2 = y1, z2 = z1;
  Integer<T> used(0);
  Mask<T> searching = Integer<T>(1) < n;
  for (int slot = 1; slot < velo_slots && any(searching); ++slot) {
    const long at = slot * tracks.stride + i;
    const T z = load<T>(tracks.velo_z + at);
    const Mask<T> found = searching & (z > z1);
    fit.worst.step = select(searching, smaller(T(z - z1), fit.worst.step), fit.worst.step);
    x2 = select(found, load<T>(tracks.velo_x + at), x2);
    y2 = select(found, load<T>(tracks.velo_y + at), y2);
    z2 = select(found, z, z2);
    used = select(found, Integer<T>(slot), used);
    searching = searching & !found & (Integer<T>(slot + 1) < n);
  }
  const Mask<T> failed = used == Integer<T>(0);
  const T zero(0), half(S(0.5)), variance(detector.velo_variance);
  const T k = load<T>(tracks.qop + i);
  fit.status = flag<T>(failed, status::few_velo_hits) |
               flag<T>((n < Integer<T>(0)) | (Integer<T>(velo_slots) < n), status::velo_count) |
               flag<T>((!finite(k)) | (k == zero), status::wrong_qop);
  const T width = T(static_cast<S>(seed_width)) * k;
  const T per_dz = T(1) / (z2 - z1);
  const T sx = (x2 - x1) * per_dz, sy = (y2 - y1) * per_dz;

  State<T>& s = fit.state;
  s = {x1, y1, sx, sy, k};
  JacobianV<T> f;
  const Noise<T> q = noise_V<T>(detector.constant + layout::V, k, z1, z2, s);
  step_V<T>(detector.constant + layout::V, pol, z1, z2, s, f);
  const T kink = half * f.tx_k;
  const T lever = variance * per_dz;                                        // R/Δ
  const T free = (lever + lever + q.xx * per_dz) * per_dz;                  // slope variance at the first hit
  const T seen = free - q.xtx * per_dz, seen_y = free - q.yty * per_dz;     // slopes at first and second hit

  clear(fit, first);
  s = {x2, y2, sx + kink * k, sy, k};
  fit.by_k[2] = kink;
  fit.c(0, 0) = variance;
  fit.c(2, 0) = lever;
  fit.c(2, 2) = seen - q.xtx * per_dz + q.txtx;
  fit.c(1, 1) = variance;
  fit.c(3, 1) = lever;
  fit.c(3, 3) = seen_y - q.yty * per_dz + q.tyty;

  first.state[0] = x1;
  first.state[1] = y1;
  first.state[2] = sx - kink * k;
  first.state[3] = sy;
  first.by_k[2] = -kink;
  first.xx = first.yy = variance;
  first.xtx = first.yty = -lever;
  first.txtx = first.tyty = free;
  first.cross[0][2] = -lever;
  first.cross[2][0] = lever;
  first.cross[2][2] = seen;
  first.cross[1][3] = -lever;
  first.cross[3][1] = lever;
  first.cross[3][3] = seen_y;

  fit.z = z2;
  z_first = z1;
  fit.qop_variance = width * width;
  fit.seed.weight = T(1) / fit.qop_variance;
  return used;
}

/// What a VELO hit and the step to it do to the first state.
template <class T>
KERNEL_FUNCTION void update_first_velo(const JacobianV<T>& f, const Innovation<T>& ux, const Innovation<T>& uy,
                                       const T* p, FirstState<T>& first) {
  apply_x(f, first.cross[0]);
  apply_x(f, first.cross[2]);
  apply_y(f, first.cross[1]);
  apply_y(f, first.cross[3]);
  update_first_velo_x(ux, p, first);
  update_first_velo_y(uy, p, first);
}

/// Filter all VELO hits; the fit ends at the last one. The scheme's `memory` has begin(slot of the second hit, first
/// state), scattering(slot, noise), which returns the noise to add, and velo(slot, jacobian, innovation of x, of y, p).
template <class T, class Memory>
KERNEL_FUNCTION void forward_velo(const Candidates<Scalar<T>>& tracks, long i, const Detector<Scalar<T>>& detector,
                                  const T& pol, Filter<T>& fit, FirstState<T>& first, T& z_first, Memory& memory) {
  const Scalar<T>* constant = detector.constant + layout::V;
  const Integer<T> used = start_velo(tracks, i, detector, pol, fit, first, z_first);
  memory.begin(used, first);
  const Integer<T> n = load_integer<T>(tracks.velo_n + i);
  const T variance(detector.velo_variance);
  const int most = largest(n);
  for (int slot = 2; slot < velo_slots && slot < most; ++slot) {
    const long at = slot * tracks.stride + i;
    const Mask<T> measured = (Integer<T>(slot) < n) & (used < Integer<T>(slot));
    const T z = select(measured, load<T>(tracks.velo_z + at), fit.z);
    fit.worst.step = smaller(T(z - fit.z), fit.worst.step);
    JacobianV<T> f;
    const Noise<T> q = where(measured, noise_V<T>(constant, fit.state.k, fit.z, z, fit.state));
    step_V<T>(constant, pol, fit.z, z, fit.state, f);
    transport_decoupled(f, fit.c);
    total_derivative_x(f, fit.by_k);
    add(memory.scattering(slot, q), fit.c);
    fit.z = z;
    T p[4];
    const auto ux = update_velo_x<T>(measured, load<T>(tracks.velo_x + at), variance, fit, fit.velo, p);
    const auto uy = update_velo_y<T>(measured, load<T>(tracks.velo_y + at), variance, fit, fit.velo, p);
    fit.worst.hit(ux.chi2 + uy.chi2);
    memory.velo(slot, f, ux, uy, p);
    fit.ndof_velo = fit.ndof_velo + select(measured, Integer<T>(2), Integer<T>(0));
  }
  fit.status = fit.status | fit.worst.status();
  fit.worst = Worst<T>();
}

}  // namespace parkf::kalman::PARKF_FORMS
