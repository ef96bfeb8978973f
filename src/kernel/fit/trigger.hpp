#pragma once
// The fit of LHCb's trigger in its own arithmetic (code of 2026), for sets of production's forms and for comparison. A
// filter runs forward from the first VELO hit, and linearises the magnet about the seed's q/p. Then the VELO is
// filtered once more, backward. This pass starts from the state saved at the last VELO hit and from the final
// covariance, carried back to that hit, so that VELO hits count twice. A straight line leads to the beam.

#include "fit/beamline.hpp"
#include "fit/downstream.hpp"
#include "fit/trigger_steps.hpp"

namespace parkf::kalman::PARKF_FORMS {

/// Whether these forms are the trigger's: its numbers of parameters and sets, and a table whose bins depend on position
/// only.
constexpr bool has_trigger = layout::VUT_columns == 15 && layout::UT_columns == 12 && layout::T_sets == 22 &&
                             !bin::by_slopes;

namespace trigger {

/// Points at which a track can be recorded, before the hit there is used.
namespace point {
constexpr int velo_end = 0, ut = 1, ut_end = 5, z_in = 6, z_out = 7, scifi = 8, scifi_end = 20, back = 21, count = 22;
constexpr int numbers = 21;  // of each: state, covariance, z
}  // namespace point

/// σ of a VELO hit in x and in y, mm. Like the constants below, it is a constant in the trigger's code.
constexpr float velo_sigma = 0.0125F;

/// Lengths with which the trigger rotates strips, mm. Only rounding depends on them.
constexpr double ut_strip = 1000, scifi_fibre = 2424;

/// The scattering between the first VELO hit and the beam.
constexpr double beam_scattering = 2.91, beam_lever = 0.808, beam_correlation = 0.793;

struct Unseen {
  template <class T>
  KERNEL_FUNCTION void operator()(int, const Track<T>&) const {}
};

/// Start at the first VELO hit, with the slopes between first and last hit. Return the status, and count the `hits`.
template <class T>
KERNEL_FUNCTION Integer<T> start(const Candidates<Scalar<T>>& tracks, long i, Track<T>& track, Integer<T>& hits) {
  using S = Scalar<T>;
  const Integer<T> n = load_integer<T>(tracks.velo_n + i);
  const T x = load<T>(tracks.velo_x + i), y = load<T>(tracks.velo_y + i), z = load<T>(tracks.velo_z + i);
  T x_end = x, y_end = y, z_end = z;
  Integer<T> sorted(0);
  hits = count<T>(Integer<T>(0) < n);
  for (int slot = 1; slot < velo_slots && slot < largest(n); ++slot) {
    const long at = slot * tracks.stride + i;
    const Mask<T> there = Integer<T>(slot) < n;
    const T next = load<T>(tracks.velo_z + at);
    sorted = sorted | flag<T>(there & (next < z_end), status::velo_unsorted);
    x_end = select(there, load<T>(tracks.velo_x + at), x_end);
    y_end = select(there, load<T>(tracks.velo_y + at), y_end);
    z_end = select(there, next, z_end);
    hits = hits + count<T>(there);
  }
  const T k = load<T>(tracks.qop + i), width = T(static_cast<S>(seed_width)) * k, dz = single(T(z_end - z));
  track.s = {x, y, single(T(single(T(x_end - x)) / dz)), single(T(single(T(y_end - y)) / dz)), k};
  track.z = z;
  for (T& element : track.c.elements) element = T(0);
  track.c(0, 0) = track.c(1, 1) = T(S(100));
  track.c(2, 2) = track.c(3, 3) = T(S(0.01));
  track.c(4, 4) = width * width;
  return sorted | flag<T>(z_end == z, status::few_velo_hits) |
         flag<T>((n < Integer<T>(0)) | (Integer<T>(velo_slots) < n), status::velo_count) |
         flag<T>((!finite(k)) | (k == T(0)), status::wrong_qop);
}

/// Step to the VELO hit of a slot and use it.
template <class T>
KERNEL_FUNCTION T use_velo(const Candidates<Scalar<T>>& tracks, long i, int slot, const Scalar<T>* p, const T& pol,
                           Track<T>& track) {
  using S = Scalar<T>;
  const long at = slot * tracks.stride + i;
  const T z_hit = load<T>(tracks.velo_z + at);
  const Mask<T> there = Integer<T>(slot) < load_integer<T>(tracks.velo_n + i);
  const T z = select(there, z_hit, track.z);
  const Noise<T> q = where(!(z == track.z), scattering_v<T>(p, T(z - track.z), track.s.k));
  JacobianV<T> step;
  step_V<T>(p, pol, track.z, z, track.s, step);
  Jacobian<T> f;
  f(0, 2) = step.x_tx;
  f(0, 4) = step.x_k;
  f(1, 3) = step.y_ty;
  f(2, 4) = step.tx_k;
  transport(f, track.c);
  add(q, track.c);
  track.z = z;
  return update_pixel<T>(there, load<T>(tracks.velo_x + at), load<T>(tracks.velo_y + at),
                         T(S(velo_sigma) * S(velo_sigma)), track);
}

template <class T>
KERNEL_FUNCTION void carry(const Jacobian<T>& f, const Noise<T>& q, Track<T>& track, Jacobian<T>& total) {
  chain(f, total);
  transport(f, track.c);
  add(q, track.c);
}

template <class T>
KERNEL_FUNCTION Noise<T> no_noise() {
  const T zero(0);
  return {zero, zero, zero, zero, zero, zero};
}

/// Filter from the last VELO hit to z_in.
template <class T, class See>
KERNEL_FUNCTION void through_ut(const Candidates<Scalar<T>>& tracks, long i, const Scalar<T>* constant, const T& pol,
                                Track<T>& track, Jacobian<T>& total, Fitted<T>& result, Worst<T>& worst,
                                const See& see) {
  using S = Scalar<T>;
  for (int layer = 0; layer < ut_layers; ++layer) {
    const Strip<T> strip = read_strip<T>(tracks.ut_x, tracks.ut_z, tracks.ut_dxdy, tracks.ut_sigma,
                                         layer * tracks.stride + i, constant[layout::UTLayer + layer]);
    worst.strip(strip.sigma, strip.off);
    Jacobian<T> f;
    if (layer == 0) {
      const Scalar<T>* p = constant + layout::VUT;
      const Noise<T> q = scattering<13, 4, 8, 1, 2, 14>(p, T(strip.z - track.z), track.s.k);
      step_vut<T>(p, pol, strip.z, track, f);
      carry(f, q, track, total);
    } else {
      const Scalar<T>* p = constant + layout::UT + (layer - 1) * layout::UT_columns;
      const Noise<T> q = scattering<1, 3, 8, 10, 9, 11>(p, T(strip.z - track.z), track.s.k);
      step_ut<T>(p, pol, strip.z, track, f);
      carry(f, q, track, total);
    }
    see(point::ut + layer, track);
    // The trigger's UT hits have 1/σ² in single precision.
    const T variance = T(1) / single(T(T(1) / strip.variance));
    const T chi2 = update_strip<T>(strip.measured, strip.x, strip.dxdy, variance, T(static_cast<S>(ut_strip)), track);
    worst.hit(chi2);
    result.chi2_ut += chi2;
    result.ndof_ut = result.ndof_ut + count<T>(strip.measured);
  }
  see(point::ut_end, track);
  Jacobian<T> f;
  step_ut<T>(constant + layout::UT + (ut_layers - 2) * layout::UT_columns, pol, T(constant[layout::UTT_META]), track, f);
  carry(f, no_noise<T>(), track, total);
  see(point::z_in, track);
}

/// Filter from z_out through the SciFi.
template <class T, class See>
KERNEL_FUNCTION void through_scifi(const Candidates<Scalar<T>>& tracks, long i, const Scalar<T>* constant,
                                   const T& pol, Track<T>& track, Jacobian<T>& total, Fitted<T>& result,
                                   Worst<T>& worst, const See& see) {
  using S = Scalar<T>;
  for (int layer = 0; layer < scifi_layers; ++layer) {
    const Scalar<T>* place = constant + layout::TLayer + layer;
    const Strip<T> strip = read_strip<T>(tracks.scifi_x, tracks.scifi_z, tracks.scifi_dxdy, tracks.scifi_sigma,
                                         layer * tracks.stride + i, place[0]);
    worst.strip(strip.sigma, strip.off);
    const T dy_dz(place[layout::TLayer_columns]);
    Jacobian<T> f;
    if (layer == 0) {
      // The trigger goes to the plane at z_out, wherever the layer and its hit are.
      const T z1 = meeting<T>(track, T(constant[layout::UTT_META + 1]), dy_dz).z;
      step_tft<T>(constant + layout::TFT, pol, z1, track, f);
      carry(f, no_noise<T>(), track, total);
    } else {
      const Meeting<T> end = meeting<T>(track, strip.z, dy_dz);
      const auto p = gap_numbers(constant, layer - 1, track.s);
      const Noise<T> q = scattering<1, 3, 8, 10, 9, 11>(p, T(end.z - track.z), track.s.k);
      step_t<T>(p, pol, end, track, f);
      carry(f, q, track, total);
    }
    see(point::scifi + layer, track);
    const T chi2 =
        update_strip<T>(strip.measured, strip.x, strip.dxdy, strip.variance, T(static_cast<S>(scifi_fibre)), track);
    worst.hit(chi2);
    result.chi2_scifi += chi2;
    result.ndof_scifi = result.ndof_scifi + count<T>(strip.measured);
    track.z = select(strip.measured, T(strip.z + track.s.y / dy_dz), track.z);
  }
  see(point::scifi_end, track);
}

/// Carry the track along a straight line to the point closest to the beam, and add the scattering before the first hit.
template <class T>
KERNEL_FUNCTION void straight_to_beamline(const Detector<Scalar<T>>& detector, Track<T>& track) {
  using S = Scalar<T>;
  State<T>& s = track.s;
  Covariance5<T>& c = track.c;
  const T tx2 = s.tx * s.tx, ty2 = s.ty * s.ty, steep = tx2 + ty2;
  const T path = ((T(detector.beam_x) - s.x) * s.tx + (T(detector.beam_y) - s.y) * s.ty) / steep;
  const T dz = select(steep < T(S(1e-6)), T(0), path);
  c(0, 0) += dz * (dz * c(2, 2) + T(2) * c(2, 0));
  c(2, 0) += dz * c(2, 2);
  c(1, 1) += dz * (dz * c(3, 3) + T(2) * c(3, 1));
  c(3, 1) += dz * c(3, 3);
  s.x += dz * s.tx;
  s.y += dz * s.ty;
  track.z += dz;
  const T n2 = T(1) + steep, angle = n2 * root(n2) * s.k * s.k * T(static_cast<S>(beam_scattering));
  const T lever = dz * T(static_cast<S>(beam_lever)), shared = dz * T(static_cast<S>(beam_correlation));
  const T q_x = (T(1) + tx2) * angle, q_y = (T(1) + ty2) * angle;
  add<T>({q_x * lever * lever, q_x * shared, q_x, q_y * lever * lever, q_y * shared, q_y}, c);
}

/// Fit the tracks from number `i` on that run together. `m` is memory for the magnet's coefficients, and `see` is
/// called with each point and the track there.
template <class T, class Kept, class See>
KERNEL_FUNCTION Fitted<T> fit(const Candidates<Scalar<T>>& tracks, long i, const Detector<Scalar<T>>& detector,
                              MagnetCoefficients<T, Kept>& m, const See& see) {
  const Scalar<T>* constant = detector.constant;
  const T pol = load<T>(tracks.polarity + i), zero(0);
  Fitted<T> result;
  result.chi2_velo = result.chi2_ut = result.chi2_scifi = zero;
  result.ndof_velo = result.ndof_ut = result.ndof_scifi = Integer<T>(0);
  Worst<T> worst;
  Track<T> track;
  Integer<T> velo_hits;
  result.status = start(tracks, i, track, velo_hits);
  const T k_seed = track.s.k;
  const int slots = largest(load_integer<T>(tracks.velo_n + i));
  const int last_slot = slots < velo_slots ? slots : velo_slots;
  for (int slot = 0; slot < last_slot; ++slot) {
    const T chi2 = use_velo<T>(tracks, i, slot, constant + layout::V, pol, track);
    worst.hit(chi2);
    result.chi2_velo += chi2;
  }
  see(point::velo_end, track);
  const State<T> saved = track.s;
  const T z_saved = track.z;

  Jacobian<T> total;
  through_ut(tracks, i, constant, pol, track, total, result, worst, see);
  Jacobian<T> f;
  const Noise<T> q = scattering_magnet<T>(constant + layout::UTTF, k_seed);
  result.status = result.status | step_magnet(detector, pol, k_seed, m, track, f);
  carry(f, q, track, total);
  see(point::z_out, track);
  through_scifi(tracks, i, constant, pol, track, total, result, worst, see);

  track.s = {saved.x, saved.y, saved.tx, saved.ty, track.s.k};
  track.z = z_saved;
  transport(inverse(total), track.c);
  see(point::back, track);
  for (int slot = last_slot - 1; slot >= 0; --slot) {
    use_velo<T>(tracks, i, slot, constant + layout::V + layout::V_columns, pol, track);
  }
  straight_to_beamline(detector, track);

  // q/p costs the SciFi one degree of freedom, as it does in the other fits.
  result.ndof_velo = velo_hits + velo_hits + Integer<T>(-4);
  const Mask<T> none = result.ndof_scifi == Integer<T>(0), no_ut = result.ndof_ut == Integer<T>(0);
  result.ndof_scifi = result.ndof_scifi + select(none, Integer<T>(0), Integer<T>(-1));
  result.ndof_ut = result.ndof_ut + select(none & !no_ut, Integer<T>(-1), Integer<T>(0));
  result.status = result.status | flag<T>(none, status::no_scifi_hit);
  result.z = track.z;
  result.x = track.s.x;
  result.y = track.s.y;
  result.tx = track.s.tx;
  result.ty = track.s.ty;
  result.qop = track.s.k;
  result.xx = track.c(0, 0);
  result.xtx = track.c(2, 0);
  result.txtx = track.c(2, 2);
  result.yy = track.c(1, 1);
  result.yty = track.c(3, 1);
  result.tyty = track.c(3, 3);
  result.qopqop = track.c(4, 4);
  result.status = result.status | worst.status() | quality(result);
  return result;
}

}  // namespace trigger

/// The same without recording points. There is no such fit for other forms than the trigger's, and callers refuse them.
template <class T, class Kept>
KERNEL_FUNCTION Fitted<T> fit_trigger(const Candidates<Scalar<T>>& tracks, long i, const Detector<Scalar<T>>& detector,
                                      MagnetCoefficients<T, Kept>& m) {
  if constexpr (has_trigger) return trigger::fit<T>(tracks, i, detector, m, trigger::Unseen{});
  else return {};
}

template <class T>
KERNEL_FUNCTION Fitted<T> fit_trigger(const Candidates<Scalar<T>>& tracks, long i, const Detector<Scalar<T>>& detector) {
  MagnetCoefficients<T> m;
  return fit_trigger<T>(tracks, i, detector, m);
}

}  // namespace parkf::kalman::PARKF_FORMS
