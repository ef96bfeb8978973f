#pragma once
// States at the planes of the RICH detectors, from all hits of a track. The smoother's filter writes down what it does
// behind the VELO, and `Later` goes back over it. It improves the first state, too, which takes less time than to carry
// that state along to the last hit. Steps with numbers of their own lead to the planes. This part is for the CPU.

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

/// Also keeps the states from which steps lead to RICH 1.
template <class T>
struct RichMemory : HalfwayRecord<T> {
  Conditional<T> last_velo, first_ut;
  T last_velo_z, first_ut_z;

  KERNEL_FUNCTION void end_of_velo(const Filter<T>& fit) {
    last_velo = fit;
    last_velo_z = fit.z;
  }
  KERNEL_FUNCTION void layer(int number, const Filter<T>& fit) {
    if (number > 0) return;
    first_ut = fit;
    first_ut_z = fit.z;
  }
  KERNEL_FUNCTION void move(const T& change) {
    last_velo.move(change);
    first_ut.move(change);
    HalfwayRecord<T>::move(change);
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
  RichMemory<T> memory;
  T z_first;
  forward_velo(tracks, i, detector, pol, fit, memory.first, z_first, memory);
  memory.end_of_velo(fit);
  const T qop_variance = record_behind_velo(tracks, i, detector, pol, fit, memory);

  RichStates<T> result;
  const auto z_of = [](int plane) { return T(static_cast<S>(rich::z[plane])); };
  // The state has been carried there; `f` is the step's Jacobian.
  const auto publish_plane = [&](int plane, Conditional<T>& there, const auto& f) {
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
    publish_plane(2 + set, there, f);
  }
  Later<T> later(qop_variance);
  int strip = memory.strips - 1;
  for (; strip > halfway; --strip) later.strip(memory, strip);
  later.improve_x(memory.first);
  for (; strip > 0; --strip) later.strip(memory, strip);
  {
    Conditional<T> there = later.smoothed(memory.first_ut);
    JacobianRICH_UT<T> f;
    step_RICH_UT<T>(numbers + rich::RICH_UT, pol, memory.first_ut_z, z_of(1), there.state, f);
    publish_plane(1, there, f);
  }
  later.strip(memory, 0);
  Conditional<T> there = later.smoothed(memory.last_velo);
  JacobianRICH_VELO<T> f;
  step_RICH_VELO<T>(numbers + rich::RICH_VELO, pol, memory.last_velo_z, z_of(0), there.state, f);
  publish_plane(0, there, f);
  later.improve_y(memory.first);
  result.track = publish(detector, pol, z_first, memory.first, fit, qop_variance);
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
