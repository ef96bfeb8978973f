#pragma once
// The start of tracks without VELO hits, at their first layer, and the state there.
//
// A first round begins with a line from the collisions whose errors are as large as the detector, which in float32
// determines the state to about a millimetre. A second round begins at that state, with errors that are small enough
// for float32 and still far larger than those of the hits.

#include "fit/downstream.hpp"
#include "fit/beamline.hpp"
#include "fit/kind.hpp"

namespace parkf::kalman::PARKF_FORMS {

/// Errors of a start: of x, y (mm), tx and ty, and of a ty that makes the track come from z = 0.
struct StartWidths {
  double x, y, tx, ty;
};
/// Those of a round. They are a function because code for GPUs has no references to constants.
KERNEL_FUNCTION constexpr StartWidths start_widths(int round) {
  return round == 0 ? StartWidths{300.0, 1500.0, 0.5, 0.1} : StartWidths{3.0, 50.0, 0.02, 0.03};
}

/// Width of q/p where no pattern recognition knows it, 1/MeV: no track has less than 500 MeV.
constexpr double unknown_qop = 2e-3;

/// Carries the state where a track begins along, in the last round with its whole covariance.
template <class T>
struct StartMemory : AsTheyAre<T> {
  Smoothed<T> start;
  Covariance<T> c;
  bool last;

  template <class Jacobian>
  KERNEL_FUNCTION void step(const Jacobian& f) {
    for (auto& row : start.cross) apply(f, row);
  }
  KERNEL_FUNCTION void hit(const Innovation<T>& u, const T& slope, const T* p, const Parabola<T>&) {
    T v[4];
    for (int l = 0; l < 4; ++l) v[l] = update_first(l, u, slope, p, start);
    for (int l = 0; last && l < 4; ++l) {
      const T weighted = v[l] * u.weight;
      for (int j = 0; j <= l; ++j) c(l, j) -= weighted * v[j];
    }
  }
  KERNEL_FUNCTION void move(const T& change) { start.move(change); }
};

/// Begin at `s`, at z.
template <class T>
KERNEL_FUNCTION void begin_at(const State<T>& s, const T& z, const StartWidths& widths, bool from_origin, Filter<T>& fit,
                              StartMemory<T>& memory) {
  using S = Scalar<T>;
  const auto square = [](double width) { return T(static_cast<S>(width * width)); };
  const T zero(0);
  fit.state = s;
  fit.z = z;
  fit.worst = Worst<T>();
  fit.velo = fit.ut = fit.scifi = Parabola<T>::nothing();
  fit.qop_variance = square(unknown_qop);
  fit.seed = {zero, zero, T(S(1)) / fit.qop_variance};
  fit.ndof_velo = fit.ndof_ut = fit.ndof_scifi = Integer<T>(0);
  for (T& element : fit.c.elements) element = zero;
  fit.c(0, 0) = square(widths.x);
  fit.c(1, 1) = square(widths.y);
  fit.c(2, 2) = square(widths.tx);
  fit.c(3, 3) = square(widths.ty);
  if (from_origin) {
    fit.c(3, 1) = fit.c(1, 1) / z;
    fit.c(3, 3) += fit.c(3, 1) / z;
  }
  memory.c = fit.c;
  const T numbers[4] = {s.x, s.y, s.tx, s.ty};
  for (int l = 0; l < 4; ++l) {
    memory.start.state[l] = numbers[l];
    fit.by_k[l] = memory.start.by_k[l] = zero;
    for (int j = 0; j < 4; ++j) memory.start.cross[l][j] = fit.c(l, j);
  }
}

/// The first hit of some layers, and z of the first layer.
template <class T>
struct Beginning {
  T x, z_hit, z;
};

template <class T>
KERNEL_FUNCTION Beginning<T> beginning(const Scalar<T>* const (&hits)[4], int layers, long stride, long i,
                                       const Scalar<T>* nominal_z) {
  Beginning<T> first{T(0), T(1), T(0)};
  for (int layer = layers - 1; layer >= 0; --layer) {
    const Strip<T> strip = read_strip<T>(hits[0], hits[1], hits[2], hits[3], layer * stride + i, nominal_z[layer]);
    first.x = select(strip.measured, strip.x, first.x);
    first.z_hit = select(strip.measured, strip.z, first.z_hit);
    first.z = strip.z;
  }
  return first;
}

/// Filter the hits of the first detector behind the VELO that a kind has: the UT, else the SciFi. q/p stays the
/// candidate's for tracks that go on through the magnet. `z` receives z of the first layer.
template <bool ut, class T>
KERNEL_FUNCTION void begin_behind_velo(const Candidates<Scalar<T>>& tracks, long i,
                                       const Detector<Scalar<T>>& detector, const T& pol, Filter<T>& fit,
                                       StartMemory<T>& memory, T& z) {
  const T zero(0);
  const Scalar<T>* const hits_ut[4] = {tracks.ut_x, tracks.ut_z, tracks.ut_dxdy, tracks.ut_sigma};
  const Scalar<T>* const hits_scifi[4] = {tracks.scifi_x, tracks.scifi_z, tracks.scifi_dxdy, tracks.scifi_sigma};
  const Beginning<T> first =
      ut ? beginning<T>(hits_ut, ut_layers, tracks.stride, i, detector.constant + layout::UTLayer)
         : beginning<T>(hits_scifi, scifi_layers, tracks.stride, i, detector.constant + layout::TLayer);
  z = first.z;
  const T k = load<T>(tracks.qop + i), tx = first.x / first.z_hit;
  State<T> s{tx * z, zero, tx, zero, k};
  for (int round = 0; round < 2; ++round) {
    memory.last = round == 1;
    begin_at(s, z, start_widths(round), round == 0, fit, memory);
    if constexpr (ut) {
      forward_ut<true>(tracks, i, detector.constant, pol, fit, memory);
    } else {
      forward_scifi<true>(tracks, i, detector.constant, pol, fit, memory);
      move(fit.known().best(), fit, memory);
    }
    const T* at = memory.start.state;
    s = {at[0], at[1], at[2], at[3], fit.state.k};
  }
}

/// A fit that begins behind the VELO, at its first layer.
template <class T>
struct FittedBehind {
  Fitted<T> track;
  T more[more_covariances];
};

/// What is published of it. `loss` is the mean loss of momentum, MeV, between a long track's production and the first
/// layer: the steps count q/p at production, and the state has the one at this layer.
template <class T>
KERNEL_FUNCTION FittedBehind<T> publish_behind(const T& z, const T& loss, const Filter<T>& fit,
                                               const StartMemory<T>& memory) {
  using S = Scalar<T>;
  const Parabola<T> known = fit.known();
  const T k = fit.state.k, kept = T(S(1)) - loss * magnitude(k), to_here = T(S(1)) / (kept * kept);
  const T variance = T(S(1)) / known.weight;
  const T *state = memory.start.state, *by_k = memory.start.by_k;
  const Covariance<T>& c = memory.c;
  const auto free = [&](int l, int j) { return c(l, j) + by_k[l] * by_k[j] * variance; };
  FittedBehind<T> result;
  Fitted<T>& track = result.track;
  track.z = z;
  track.x = state[0];
  track.y = state[1];
  track.tx = state[2];
  track.ty = state[3];
  track.qop = k / kept;
  track.xx = free(0, 0);
  track.xtx = free(2, 0);
  track.txtx = free(2, 2);
  track.yy = free(1, 1);
  track.yty = free(3, 1);
  track.tyty = free(3, 3);
  track.qopqop = variance * to_here * to_here;
  result.more[0] = free(1, 0);
  result.more[1] = free(2, 1);
  result.more[2] = free(3, 0);
  result.more[3] = free(3, 2);
  for (int l = 0; l < 4; ++l) result.more[4 + l] = by_k[l] * variance * to_here;
  track.chi2_velo = fit.velo.chi2;
  track.chi2_ut = fit.ut.chi2;
  track.chi2_scifi = fit.scifi.chi2;
  // Position and direction cost four degrees of freedom: of the UT's as far as it has them.
  const Integer<T> zero(0), ut = fit.ndof_ut + Integer<T>(-4);
  const Mask<T> short_of_ut = ut < zero;
  const Integer<T> scifi = fit.ndof_scifi + select(short_of_ut, ut, zero);
  const Mask<T> few = scifi < zero;
  track.ndof_velo = zero;
  track.ndof_ut = select(short_of_ut, zero, ut);
  track.ndof_scifi = select(few, zero, scifi);
  track.status = fit.status | flag<T>(few, status::few_hits) | quality(track);
  return result;
}

}  // namespace parkf::kalman::PARKF_FORMS
