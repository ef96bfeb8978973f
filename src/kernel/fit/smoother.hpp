#pragma once
// The default scheme: one forward filter, which also improves the state at the first VELO hit with every later hit.
// Every measurement enters once, and there is no backward pass. The bend is evaluated at the q/p after the first
// SciFi hit.
//
// State, covariance and first state are for one fixed q/p, and their derivatives with respect to q/p are carried along.
// The information of the hits on q/p is a parabola of χ². The fixed q/p is replaced by the best one twice: after the
// first SciFi hit, and at the end. So every step is evaluated at one q/p, and the covariance has one row and one column
// less.
//
// Why float32 is enough (99.9% of states within 0.003 σ of float64, no negative variance):
// - The start is the closed form from two hits. A wide prior, such as 100 mm², would have to cancel down to the
//   1.6e-4 mm² of the hits, which uses up all 24 bits.
// - For the same reason the covariance does not include q/p: at the first SciFi hit the error of the seed's q/p would
//   be decimetres in x, and an error of hundredths of a millimetre must remain.
// - A hit multiplies its own row of the covariance by R/S. Subtracting K·S·Kᵀ would cancel.
// - q/p stays in 1/MeV: 1e-12 is far from the smallest float. Large powers of ten are factors in the step's formulas,
//   in front of its parameters.
// - The magnet acts on differences from the straight line, so that no large terms cancel.
// - SciFi states stay on the leaning planes, so that no z is computed as a difference of positions.
// - In the VELO x is filtered before y, and hits in the order of z, as in float64. The order only changes rounding.

#include "fit/beamline.hpp"
#include "fit/downstream.hpp"

namespace parkf::kalman::PARKF_FORMS {

/// Carries the first state along, with its covariance with the current state.
template <class T>
struct FirstStateMemory : AsTheyAre<T> {
  FirstState<T> first;

  KERNEL_FUNCTION void begin(const Integer<T>&, const FirstState<T>&) {}
  KERNEL_FUNCTION void velo(int, const JacobianV<T>& f, const Innovation<T>& ux, const Innovation<T>& uy, const T* p) {
    update_first_velo(f, ux, uy, p, first);
  }
  template <class Jacobian>
  KERNEL_FUNCTION void step(const Jacobian& f) {
    for (auto& row : first.cross) apply(f, row);
  }
  KERNEL_FUNCTION void hit(const Innovation<T>& u, const T& slope, const T* p, const Parabola<T>&) {
    update_first_x(u, slope, p, first);
    update_first_y(u, slope, p, first);
  }
  KERNEL_FUNCTION void move(const T& change) { first.move(change); }
};

/// What is published of a fit at the q/p of all hits, with what they say of the first state.
template <class T>
KERNEL_FUNCTION Fitted<T> publish(const Detector<Scalar<T>>& detector, const T& pol, const T& z_first,
                                  const FirstState<T>& first, const Filter<T>& fit, const T& qop_variance) {
  Fitted<T> track;
  track.z = z_first;
  track.x = first.state[0];
  track.y = first.state[1];
  track.tx = first.state[2];
  track.ty = first.state[3];
  track.qop = at_production<T>(detector, fit.ndof_velo, fit.state.k);
  track.xx = first.xx;
  track.xtx = first.xtx;
  track.txtx = first.txtx;
  track.yy = first.yy;
  track.yty = first.yty;
  track.tyty = first.tyty;
  free_qop(first.by_k, qop_variance, track);
  to_beamline(detector, pol, fit, track);
  return track;
}

/// Go on from the plane behind the magnet. `memory` is a FirstStateMemory, and `fit` ends at the last layer, at the q/p of
/// all hits.
template <class T, class Memory>
KERNEL_FUNCTION Fitted<T> fit_behind_magnet(const Candidates<Scalar<T>>& tracks, long i,
                                            const Detector<Scalar<T>>& detector, const T& pol, const T& z_first,
                                            Filter<T>& fit, Memory& memory) {
  forward_scifi(tracks, i, detector.constant, pol, fit, memory);
  const Parabola<T> known = fit.known();
  move(known.best(), fit, memory);
  return publish(detector, pol, z_first, memory.first, fit, T(1) / known.weight);
}

/// Go on from the last VELO hit; `m` is where the magnet's coefficients are kept meanwhile.
template <class T, class Memory, class Kept>
KERNEL_FUNCTION Fitted<T> fit_behind_velo(const Candidates<Scalar<T>>& tracks, long i,
                                          const Detector<Scalar<T>>& detector, const T& pol, const T& z_first,
                                          Filter<T>& fit, Memory& memory, MagnetCoefficients<T, Kept>& m) {
  forward_ut(tracks, i, detector.constant, pol, fit, memory);
  forward_magnet<true>(tracks, i, detector, pol, m, fit, memory);
  return fit_behind_magnet(tracks, i, detector, pol, z_first, fit, memory);
}

/// Fit the tracks from number `i` on that run together.
template <class T, class Memory, class Kept>
KERNEL_FUNCTION Fitted<T> fit_smoother(const Candidates<Scalar<T>>& tracks, long i,
                                       const Detector<Scalar<T>>& detector, Filter<T>& fit, Memory& memory,
                                       MagnetCoefficients<T, Kept>& m) {
  const T pol = load<T>(tracks.polarity + i);
  T z_first;
  forward_velo(tracks, i, detector, pol, fit, memory.first, z_first, memory);
  return fit_behind_velo(tracks, i, detector, pol, z_first, fit, memory, m);
}

template <class T, class Kept>
KERNEL_FUNCTION Fitted<T> fit_smoother(const Candidates<Scalar<T>>& tracks, long i,
                                       const Detector<Scalar<T>>& detector, MagnetCoefficients<T, Kept>& m) {
  Filter<T> fit;
  FirstStateMemory<T> memory;
  return fit_smoother<T>(tracks, i, detector, fit, memory, m);
}

template <class T>
KERNEL_FUNCTION Fitted<T> fit_smoother(const Candidates<Scalar<T>>& tracks, long i,
                                       const Detector<Scalar<T>>& detector) {
  MagnetCoefficients<T> m;
  return fit_smoother<T>(tracks, i, detector, m);
}

}  // namespace parkf::kalman::PARKF_FORMS
