#pragma once
// The default scheme: one forward filter that carries the state at the first VELO hit along. Every measurement
// enters once, there is no backward pass, and the bend is evaluated where the first SciFi hit puts q/p.

#include "beamline.hpp"
#include "downstream.hpp"

namespace parkf::kalman::PARKF_FORMS {

/// Keeps the first state correlated with the current one.
template <class T>
struct FirstStateMemory {
  FirstState<T>& first;

  template <class Jacobian>
  KERNEL_FUNCTION void step(const Jacobian& f) {
    for (auto& row : first.cross) apply(f, row);
  }
  KERNEL_FUNCTION void hit(const Innovation<T>& u, const T& slope, const T* p) { update_first(u, slope, p, first); }
};

/// Fit the tracks from number `i` on that run together.
template <class T>
KERNEL_FUNCTION Fitted<T> fit_smoother(const Candidates<Scalar<T>>& tracks, long i,
                                       const Detector<Scalar<T>>& detector) {
  const T pol = load<T>(tracks.polarity + i);
  Filter<T> fit;
  FirstState<T> first;
  Fitted<T> track;
  fit.reference = load<T>(tracks.qop + i);
  forward_velo<true>(tracks, i, detector, pol, fit, first, track.z);
  FirstStateMemory<T> memory{first};
  forward_ut(tracks, i, detector.constant, pol, fit, memory);
  forward_magnet<true>(tracks, i, detector, pol, fit, memory);
  forward_scifi(tracks, i, detector.constant, pol, fit, memory);
  track.x = first.state[0];
  track.y = first.state[1];
  track.tx = first.state[2];
  track.ty = first.state[3];
  track.qop = fit.state.k;
  track.xx = first.xx;
  track.xtx = first.xtx;
  track.txtx = first.txtx;
  track.yy = first.yy;
  track.yty = first.yty;
  track.tyty = first.tyty;
  track.qopqop = fit.c(4, 4);
  to_beamline(detector, pol, fit, track);
  return track;
}

}  // namespace parkf::kalman::PARKF_FORMS
