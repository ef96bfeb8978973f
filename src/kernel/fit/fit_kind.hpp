#pragma once
// Fits of kinds of tracks besides long ones, from the same steps as the smoother's.

#include "fit/behind_velo.hpp"
#include "fit/slices.hpp"
#include "fit/smoother.hpp"

namespace parkf::kalman::PARKF_FORMS {

/// Jacobian of a hop by slices: derivatives of x, y, tx, ty with respect to x, y, tx, ty, q/p.
template <class T>
struct JacobianHop {
  T of[4][5];
};

template <class T>
KERNEL_FUNCTION void apply(const JacobianHop<T>& f, T* v) {
  T moved[4];
  for (int l = 0; l < 4; ++l) {
    moved[l] = f.of[l][0] * v[0];
    for (int j = 1; j < 4; ++j) moved[l] += f.of[l][j] * v[j];
  }
  for (int l = 0; l < 4; ++l) v[l] = moved[l];
}

template <class T>
KERNEL_FUNCTION void total_derivative(const JacobianHop<T>& f, T* v) {
  apply(f, v);
  for (int l = 0; l < 4; ++l) v[l] += f.of[l][4];
}

template <class T>
KERNEL_FUNCTION void transport(const JacobianHop<T>& f, Covariance<T>& c) {
  T rows[4][4];
  for (int j = 0; j < 4; ++j) {
    for (int l = 0; l < 4; ++l) rows[j][l] = c(l, j);
    apply(f, rows[j]);
  }
  for (int l = 0; l < 4; ++l) {
    T column[4] = {rows[0][l], rows[1][l], rows[2][l], rows[3][l]};
    apply(f, column);
    for (int j = l; j < 4; ++j) c(j, l) = column[j];
  }
}

/// x and tx at z_out of a state at z_in by slices, and their derivatives with respect to q/p.
template <class T>
KERNEL_FUNCTION BentX<T> bent_x(const slices::Slices& slices, const Scalar<T>* constant, const T& pol,
                              const State<T>& s) {
  const Scalar<T>* header = constant + layout::UTT_META;
  T local, local_k;
  local_qop<T>(constant + layout::UTTF, s.k, local, local_k);
  slices::Bending<T> track;
  track.s = {s.x, s.y, s.tx, s.ty, local};
  slices::carry(slices, pol, T(header[0]), T(header[1]), track);
  return {track.s.x, track.s.tx, track.by_k[0] * local_k, track.by_k[2] * local_k};
}

/// Carry a state at z_in to z_out by slices: unlike the magnet table, they know tracks from anywhere.
template <class T>
KERNEL_FUNCTION void through_slices(const slices::Slices& slices, const Scalar<T>* constant, const T& pol, State<T>& s,
                                    JacobianHop<T>& f, Mask<T>& outside) {
  const Scalar<T>* header = constant + layout::UTT_META;
  T local, local_k;
  local_qop<T>(constant + layout::UTTF, s.k, local, local_k);
  slices::Moving<T> track;
  track.s = {s.x, s.y, s.tx, s.ty, local};
  slices::carry(slices, pol, T(header[0]), T(header[1]), track);
  for (int l = 0; l < 4; ++l) {
    for (int j = 0; j < 4; ++j) f.of[l][j] = track.jacobian[l][j];
    f.of[l][4] = track.jacobian[l][4] * local_k;
  }
  outside = track.lost;
  s = {track.s.x, track.s.y, track.s.tx, track.s.ty, s.k};
}

/// Run the filter from z_in to z_out by slices, at the q/p of the first SciFi hit.
template <class T, class Memory>
KERNEL_FUNCTION void forward_slices(const Candidates<Scalar<T>>& tracks, long i, const Detector<Scalar<T>>& detector,
                                    const slices::Slices& slices, const T& pol, Filter<T>& fit, Memory& memory) {
  const Scalar<T>* constant = detector.constant;
  const Scalar<T>* header = constant + layout::UTT_META;
  const T z_in(header[0]), z_out(header[1]);
  const FirstHit<T> hit = first_scifi_hit<T>(tracks, i, constant);
  Mask<T> far = hit.measured;
  T qop_variance = fit.qop_variance;
  for (int round = 0; round < newton_rounds && any(far); ++round) {
    const BentX<T> bent = bent_x(slices, constant, pol, fit.state);
    const T change = select(far, towards(hit, fit, bent, z_in, z_out, qop_variance), T(0));
    far = far & (magnitude(change) > T(Scalar<T>(0.5)) * magnitude(fit.state.k));
    move(change, fit, memory);
  }
  fit.qop_variance = select(hit.measured, qop_variance, fit.qop_variance);
  JacobianHop<T> f;
  Mask<T> outside;
  const State<T> before = fit.state;
  through_slices(slices, constant, pol, fit.state, f, outside);
  carry(f, fit, memory);
  const Noise<T> q = noise_UTTF<T>(constant + layout::UTTF, fit.state.k, before, fit.state);
  add(memory.scattering(scifi_slots, q), fit.c);
  fit.z = z_out;
  fit.status = fit.status | flag<T>(outside, status::outside_slices);
}

template <class T>
KERNEL_FUNCTION Integer<T> wrong_seed(const T& k) {
  return flag<T>((!finite(k)) | (k == T(0)), status::wrong_qop);
}

/// UT and SciFi: the state is at the first UT layer.
template <class T>
KERNEL_FUNCTION FittedBehind<T> fit_downstream(const Candidates<Scalar<T>>& tracks, long i,
                                               const Detector<Scalar<T>>& detector, const slices::Slices& slices,
                                               const T& loss) {
  const T pol = load<T>(tracks.polarity + i);
  Filter<T> fit;
  StartMemory<T> memory;
  T z;
  fit.status = wrong_seed(load<T>(tracks.qop + i));
  begin_behind_velo<true>(tracks, i, detector, pol, fit, memory, z);
  forward_slices(tracks, i, detector, slices, pol, fit, memory);
  forward_scifi(tracks, i, detector.constant, pol, fit, memory);
  move(fit.known().best(), fit, memory);
  return publish_behind(z, loss, fit, memory);
}

/// SciFi alone: the state is on the plane of the first layer.
template <class T>
KERNEL_FUNCTION FittedBehind<T> fit_scifi(const Candidates<Scalar<T>>& tracks, long i,
                                          const Detector<Scalar<T>>& detector, const T& loss) {
  const T pol = load<T>(tracks.polarity + i);
  Filter<T> fit;
  StartMemory<T> memory;
  T z;
  fit.status = wrong_seed(load<T>(tracks.qop + i));
  begin_behind_velo<false>(tracks, i, detector, pol, fit, memory, z);
  z += T(layer_lean(detector.constant + layout::TLayer)) * memory.start.state[1];
  return publish_behind(z, loss, fit, memory);
}

/// Carries the first state along in the last round of a fit. In a round before, which only finds q/p, the rows of the next
/// tracks are prefetched.
template <class T>
struct LastRoundMemory : FirstStateMemory<T> {
  const Ahead* ahead;
  bool last;

  KERNEL_FUNCTION void velo(int slot, const JacobianV<T>& f, const Innovation<T>& ux, const Innovation<T>& uy,
                            const T* p) {
    if (last) FirstStateMemory<T>::velo(slot, f, ux, uy, p);
  }
  template <class Jacobian>
  KERNEL_FUNCTION void step(const Jacobian& f) {
    if (last) FirstStateMemory<T>::step(f);
  }
  KERNEL_FUNCTION void hit(const Innovation<T>& u, const T& slope, const T* p, const Parabola<T>& hits) {
    if (last) FirstStateMemory<T>::hit(u, slope, p, hits);
  }
  template <class Fit>
  KERNEL_FUNCTION void layer(int number, const Fit&) {
    constexpr int parts = scifi_layers / ut_layers;
    if constexpr (Number<T>::lanes > 1) {
      if (last || ahead == nullptr) return;
      for (int part = 0; part < parts; ++part) ahead->template fetch<T>(parts * number + part);
    }
  }
};

/// VELO and UT: the state is at the beam line, as of a long track. The noise of a second round is that of the q/p that a
/// first one finds, which is twice as precise as a pattern recognition's.
template <class T>
KERNEL_FUNCTION Fitted<T> fit_upstream(const Candidates<Scalar<T>>& tracks, long i,
                                       const Detector<Scalar<T>>& detector) {
  using S = Scalar<T>;
  const T pol = load<T>(tracks.polarity + i);
  Candidates<S> seen = tracks;
  S found[Number<T>::lanes];
  Filter<T> fit;
  LastRoundMemory<T> memory;
  memory.ahead = tracks.ahead;
  T z_first;
  for (int round = 0; round < 2; ++round) {
    memory.last = round == 1;
    fit.worst = Worst<T>();
    forward_velo(seen, i, detector, pol, fit, memory.first, z_first, memory);
    fit.qop_variance = T(S(unknown_qop * unknown_qop));
    fit.seed = {T(0), T(0), T(S(1)) / fit.qop_variance};
    forward_ut(seen, i, detector.constant, pol, fit, memory);
    move(fit.known().best(), fit, memory);
    store(fit.state.k, found);
    seen.qop = found - i;
  }
  const Integer<T> none(0);
  fit.status = fit.status | wrong_seed(load<T>(tracks.qop + i)) | fit.worst.status() |
               flag<T>(fit.ndof_ut == none, status::few_hits);
  fit.ndof_ut = fit.ndof_ut + select(fit.ndof_ut == none, none, Integer<T>(-1));
  return publish(detector, pol, z_first, memory.first, fit, T(1) / fit.known().weight);
}

/// Fit tracks i … of a kind besides long ones. `loss` is the mean loss of momentum before the first layer behind the VELO,
/// MeV.
template <class T>
KERNEL_FUNCTION FittedBehind<T> fit_kind(const Kind& kind, const Candidates<Scalar<T>>& tracks, long i,
                                         const Detector<Scalar<T>>& detector, const slices::Slices& slices,
                                         const T& loss) {
  if (kind.velo) return {fit_upstream<T>(tracks, i, detector), {}};
  return kind.ut ? fit_downstream<T>(tracks, i, detector, slices, loss) : fit_scifi<T>(tracks, i, detector, loss);
}

/// Write tracks of a kind to (quantity, track) arrays at track `to`: the numbers of `Fitted`, and without VELO hits the
/// further covariances behind them.
template <bool past_caches = false, class T>
KERNEL_FUNCTION void store(const Kind& kind, const FittedBehind<T>& fitted, long stride, long to, Scalar<T>* numbers,
                           int* integers) {
  kalman::store<past_caches>(fitted.track, stride, to, numbers, integers);
  for (int q = 0; !kind.velo && q < more_covariances; ++q) {
    kalman::store<past_caches>(fitted.more[q], numbers + (fitted_numbers + q) * stride + to);
  }
}

}  // namespace parkf::kalman::PARKF_FORMS
