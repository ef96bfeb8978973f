#pragma once
// The fit at every plane, not at the first alone (fixed-interval smoothing), for what is asked for now and then: which
// hit agrees least with all the others, and the states at the RICH detectors. The filter runs forward once more and
// writes down what it does; `Later` goes back over it. This part is for the CPU.

#include "fit/beamline.hpp"
#include "fit/interval_layout.hpp"
#include "fit/later.hpp"

namespace parkf::kalman::PARKF_FORMS {

/// State at a plane with the covariance of x, y, tx, ty, whatever q/p.
template <class T>
struct PlaneState {
  State<T> s;
  Covariance<T> c;
};

/// The hit that agrees least with the others, and states at the RICH planes.
template <class T>
struct Interval {
  T worst;  // u² of x or y, of all other hits
  PlaneState<T> planes[rich_planes];
  Integer<T> worst_slot;  // VELO slots, then UT and SciFi layers; -1: none can be found
};

/// Backward over `record`, whose q/p is the fit's, known to `qop_variance`.
///
/// Before the magnet, states go from the last VELO hit by the VELO's form and from the first UT layer by that of the
/// gap behind it, without the scattering in between; behind it, straight on from the last SciFi layer.
template <class T>
KERNEL_FUNCTION Interval<T> backward(const Record<T>& record, const Detector<Scalar<T>>& detector, const T& pol,
                                     const T& qop_variance, bool planes) {
  using S = Scalar<T>;
  const S* constant = detector.constant;
  const Filter<T>& end = record.fit;
  Interval<T> result;
  const auto z_of = [](int plane) { return T(static_cast<S>(rich_z[plane])); };
  // The state has been carried there; `f` is the step's Jacobian.
  const auto publish = [&](int plane, Conditional<T>& there, const auto& f) {
    transport(f, there.c);
    total_derivative(f, there.by_k);
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j <= i; ++j) there.c(i, j) += there.by_k[i] * there.by_k[j] * qop_variance;
    }
    result.planes[plane] = {there.state, there.c};
  };
  if (planes) {
    const T lean(layer_lean(constant + layout::TLayer + scifi_layers - 1));
    for (int plane = 2; plane < rich_planes; ++plane) {
      Conditional<T> there = end;
      const T dz = z_of(plane) - (end.z + lean * there.state.y);
      const JacobianBEAM<T> straight{dz, dz};
      there.state.x += dz * there.state.tx;
      there.state.y += dz * there.state.ty;
      publish(plane, there, straight);
    }
  }
  Later<T> later(qop_variance);
  int step = record.steps;
  for (int strip = record.strips - 1; strip >= 0; --strip) {
    if (strip == 0 && planes) {
      Conditional<T> there = later.smoothed(record.first_ut);
      JacobianUT<T> f;
      step_UT<T>(constant + layout::UT, pol, record.first_ut_z, z_of(1), there.state, f);
      publish(1, there, f);
    }
    const StripRecord<T>& r = record.hits[strip];
    later.template hit<0, 1>(velo_slots + strip, r, r.slope);
    later.step(record.levers[--step]);
    if (strip == ut_layers) {  // through the magnet and back to the last UT layer
      later.step(record.levers[--step]);
      later.step(record.levers[--step]);
    }
  }
  if (planes) {
    Conditional<T> there = later.smoothed(record.last_velo);
    JacobianV<T> f;
    step_V<T>(constant + layout::V, pol, record.last_velo_z, z_of(0), there.state, f);
    publish(0, there, f);
  }
  const T straight(0);
  for (int slot = record.pixels_end - 1; slot >= 2; --slot) {
    const PixelRecord<T>& r = record.pixels[slot];
    later.template hit<1, 0>(slot, r.y, straight);
    later.template hit<0, 1>(slot, r.x, straight);
    later.step(Levers<T>(r.f));
  }
  for (int hit = 0; hit < 4; ++hit) {
    later.start(hit < 2 ? Integer<T>(0) : record.second, record.start[hit]);
  }
  result.worst = later.worst;
  result.worst_slot = later.worst_slot;
  return result;
}

/// For the tracks from number `i` on that run together. `planes`: states there are wanted.
template <class T>
KERNEL_FUNCTION Interval<T> fit_interval(const Candidates<Scalar<T>>& tracks, long i,
                                         const Detector<Scalar<T>>& detector, bool planes) {
  const T pol = load<T>(tracks.polarity + i);
  Filter<T> fit;
  Record<T> record(fit);
  const T qop_variance = fit_recorded(tracks, i, detector, pol, fit, record);
  return backward(record, detector, pol, qop_variance, planes);
}

/// Write the tracks that run together to (quantity, track) arrays at track `i`; planes only where wanted.
template <bool past_caches = false, class T>
KERNEL_FUNCTION void store_interval(const Interval<T>& track, bool planes, long stride, long i, Scalar<T>* numbers,
                                    int* integers) {
  store<past_caches>(track.worst, numbers + i);
  store_integer<T, past_caches>(track.worst_slot, integers + i);
  if (!planes) return;
  Scalar<T>* row = numbers + stride + i;
  for (const PlaneState<T>& plane : track.planes) {
    const T state[4] = {plane.s.x, plane.s.y, plane.s.tx, plane.s.ty};
    for (int q = 0; q < plane_numbers; ++q, row += stride) {
      store<past_caches>(q < 4 ? state[q] : plane.c.elements[q - 4], row);
    }
  }
}

}  // namespace parkf::kalman::PARKF_FORMS
