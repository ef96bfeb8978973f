#pragma once
// States at the planes of the RICH detectors, from all hits of a track. The smoother's filter records its steps and
// hits behind the VELO, and `Later` goes back over this record. Steps with their own constants lead to the planes. This
// part is for the CPU.

#include "fit/later.hpp"
#include "fit/smoother.hpp"

namespace parkf::kalman::PARKF_FORMS {

/// State at a plane, with the covariance of x, y, tx, ty, which includes the uncertainty of q/p.
template <class T>
struct PlaneState {
  State<T> s;
  Covariance<T> c;
};

constexpr int plane_numbers = 14;  // of a PlaneState: x, y, tx, ty, and the lower triangle of their covariance

/// A fitted track, with its states at the planes.
template <class T>
struct RichStates {
  Fitted<T> track;
  PlaneState<T> at[rich::planes];
};

/// The smoother's memory, which also records the filter behind the VELO, and the states where steps to RICH 1 begin.
template <class T>
struct RichMemory : FirstStateMemory<T> {
  const Filter<T>& fit;
  StripsRecord<T> record;
  Conditional<T> last_velo, first_ut;
  T last_velo_z, first_ut_z;

  KERNEL_FUNCTION explicit RichMemory(const Filter<T>& filter) : fit(filter) {}

  KERNEL_FUNCTION void end_of_velo() {
    last_velo = fit;
    last_velo_z = fit.z;
  }
  template <class Jacobian>
  KERNEL_FUNCTION void step(const Jacobian& f) {
    FirstStateMemory<T>::step(f);
    record.step(f);
  }
  KERNEL_FUNCTION void hit(const Innovation<T>& u, const T& slope, const T* p, const Parabola<T>& hits) {
    if (record.strip == 0) {
      first_ut = fit;
      first_ut_z = fit.z;
    }
    FirstStateMemory<T>::hit(u, slope, p, hits);
    record.hit(u, slope, p, hits);
  }
  KERNEL_FUNCTION void move(const T& change) {
    FirstStateMemory<T>::move(change);
    record.move(change);
    last_velo.move(change);
    first_ut.move(change);
  }
};

/// Fit the tracks from number `i` on that run together, as fit_smoother does. `numbers` are the constants of the steps
/// to the planes. These steps leave out the scattering on the way.
template <class T>
KERNEL_FUNCTION RichStates<T> fit_rich(const Candidates<Scalar<T>>& tracks, long i,
                                       const Detector<Scalar<T>>& detector, const Scalar<T>* numbers) {
  using S = Scalar<T>;
  const T pol = load<T>(tracks.polarity + i);
  Filter<T> fit;
  RichMemory<T> memory(fit);
  MagnetCoefficients<T> m;
  T z_first;
  forward_velo(tracks, i, detector, pol, fit, memory.first, z_first, memory);
  memory.end_of_velo();

  RichStates<T> result;
  result.track = fit_behind_velo(tracks, i, detector, pol, z_first, fit, memory, m);
  const T qop_variance = result.track.qopqop;
  const auto z_of = [](int plane) { return T(static_cast<S>(rich::z[plane])); };
  // Store the state `there`, which has been carried to a plane; `f` is the Jacobian of the step to the plane.
  const auto publish = [&](int plane, Conditional<T>& there, const auto& f) {
    transport(f, there.c);
    total_derivative(f, there.by_k);
    for (int row = 0; row < 4; ++row) {
      for (int column = 0; column <= row; ++column) {
        there.c(row, column) += there.by_k[row] * there.by_k[column] * qop_variance;
      }
    }
    result.at[plane] = {there.state, there.c};
  };

  const T last_layer = fit.z + T(layer_lean(detector.constant + layout::TLayer + scifi_layers - 1)) * fit.state.y;
  for (int set = 0; set < rich::RICH_SCIFI_sets; ++set) {
    Conditional<T> there = fit;
    JacobianRICH_SCIFI<T> f;
    step_RICH_SCIFI<T>(numbers + rich::RICH_SCIFI + set * rich::RICH_SCIFI_columns, pol, last_layer, z_of(2 + set), there.state, f);
    publish(2 + set, there, f);
  }
  Later<T> later(qop_variance);
  const StripsRecord<T>& record = memory.record;
  int step = record.steps;
  for (int strip = record.strips - 1; strip > 0; --strip) later.strip(record, strip, step);
  {
    Conditional<T> there = later.smoothed(memory.first_ut);
    JacobianRICH_UT<T> f;
    step_RICH_UT<T>(numbers + rich::RICH_UT, pol, memory.first_ut_z, z_of(1), there.state, f);
    publish(1, there, f);
  }
  later.strip(record, 0, step);
  Conditional<T> there = later.smoothed(memory.last_velo);
  JacobianRICH_VELO<T> f;
  step_RICH_VELO<T>(numbers + rich::RICH_VELO, pol, memory.last_velo_z, z_of(0), there.state, f);
  publish(0, there, f);
  return result;
}

/// Write the states of the tracks that run together to (quantity, track) arrays at track `i`.
template <bool past_caches = false, class T>
KERNEL_FUNCTION void store_states(const RichStates<T>& states, long stride, long i, Scalar<T>* numbers) {
  Scalar<T>* row = numbers + i;
  for (const PlaneState<T>& plane : states.at) {
    const T state[4] = {plane.s.x, plane.s.y, plane.s.tx, plane.s.ty};
    for (int q = 0; q < plane_numbers; ++q, row += stride) {
      store<past_caches>(q < 4 ? state[q] : plane.c.elements[q - 4], row);
    }
  }
}

}  // namespace parkf::kalman::PARKF_FORMS
