#pragma once
// The scheme in production: a forward filter, then the VELO once more backward, from the state saved at its last
// hit and the final covariance carried back there. The VELO hits count twice; kept as the reference to compare with.

#include "fit/beamline.hpp"
#include "fit/downstream.hpp"

namespace parkf::kalman::PARKF_FORMS {

/// Multiplies the Jacobians from the last VELO hit on, and the derivatives by q/p with them.
template <class T>
struct JacobianMemory : AsTheyAre<T> {
  T columns[4][4], by_k[4];

  KERNEL_FUNCTION JacobianMemory() {
    for (int j = 0; j < 4; ++j) {
      for (int i = 0; i < 4; ++i) columns[j][i] = T(i == j ? 1 : 0);
      by_k[j] = T(0);
    }
  }
  template <class Jacobian>
  KERNEL_FUNCTION void step(const Jacobian& f) {
    for (auto& column : columns) apply(f, column);
    total_derivative(f, by_k);
  }
  KERNEL_FUNCTION void begin(const Integer<T>&, const FirstState<T>&) {}
  KERNEL_FUNCTION void velo(int, const JacobianV<T>&, const Innovation<T>&, const Innovation<T>&, const T*) {}
  KERNEL_FUNCTION void hit(const Innovation<T>&, const T&, const T*, const Parabola<T>&) {}
  KERNEL_FUNCTION void move(const T&) {}
};

template <class T>
struct Square {
  T a00, a01, a10, a11;

  KERNEL_FUNCTION friend Square operator*(const Square& a, const Square& b) {
    return {a.a00 * b.a00 + a.a01 * b.a10, a.a00 * b.a01 + a.a01 * b.a11, a.a10 * b.a00 + a.a11 * b.a10,
            a.a10 * b.a01 + a.a11 * b.a11};
  }
  KERNEL_FUNCTION friend Square operator-(const Square& a, const Square& b) {
    return {a.a00 - b.a00, a.a01 - b.a01, a.a10 - b.a10, a.a11 - b.a11};
  }
  KERNEL_FUNCTION Square inverse() const {
    const T i = T(1) / (a00 * a11 - a01 * a10);
    return {a11 * i, -a01 * i, -a10 * i, a00 * i};
  }
};

/// C ← F⁻¹ C F⁻ᵀ and the derivatives by q/p likewise, by blocks: positions | slopes, of which the slopes' block is
/// close to one.
template <class T>
KERNEL_FUNCTION void transport_back(const JacobianMemory<T>& memory, Conditional<T>& at) {
  const auto& f = memory.columns;
  const Square<T> pp{f[0][0], f[1][0], f[0][1], f[1][1]}, ps{f[2][0], f[3][0], f[2][1], f[3][1]};
  const Square<T> sp{f[0][2], f[1][2], f[0][3], f[1][3]}, ss{f[2][2], f[3][2], f[2][3], f[3][3]};
  const Square<T> ss_inverse = ss.inverse();
  const Square<T> lever = ps * ss_inverse, feed = ss_inverse * sp;
  const Square<T> i_pp = (pp - ps * feed).inverse();
  const Square<T> positive = i_pp * lever;  // −(inverse's positions from slopes)
  const Square<T> negative = feed * i_pp;   // −(inverse's slopes from positions)
  const Square<T> across = feed * positive;
  const T inverse[4][4] = {{i_pp.a00, i_pp.a01, -positive.a00, -positive.a01},
                           {i_pp.a10, i_pp.a11, -positive.a10, -positive.a11},
                           {-negative.a00, -negative.a01, ss_inverse.a00 + across.a00, ss_inverse.a01 + across.a01},
                           {-negative.a10, -negative.a11, ss_inverse.a10 + across.a10, ss_inverse.a11 + across.a11}};
  const auto back = [&inverse](int i, const T* v) {
    T sum = inverse[i][0] * v[0];
    for (int m = 1; m < 4; ++m) sum += inverse[i][m] * v[m];
    return sum;
  };
  T half[4][4], gained[4];
  for (int j = 0; j < 4; ++j) {
    const T column[4] = {at.c(0, j), at.c(1, j), at.c(2, j), at.c(3, j)};
    for (int i = 0; i < 4; ++i) half[i][j] = back(i, column);
    gained[j] = at.by_k[j] - memory.by_k[j];
  }
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j <= i; ++j) at.c(i, j) = back(j, half[i]);
    at.by_k[i] = back(i, gained);
  }
}

/// Fit the tracks from number `i` on that run together; `m` is where the magnet's coefficients are kept meanwhile.
template <class T, class Kept>
KERNEL_FUNCTION Fitted<T> fit_forward_backward(const Candidates<Scalar<T>>& tracks, long i,
                                               const Detector<Scalar<T>>& detector, MagnetCoefficients<T, Kept>& m) {
  const Scalar<T>* constant = detector.constant;
  const T pol = load<T>(tracks.polarity + i);
  Filter<T> fit;
  FirstState<T> unused;
  Fitted<T> track;
  JacobianMemory<T> memory;
  forward_velo(tracks, i, detector, pol, fit, unused, track.z, memory);
  State<T> last = fit.state;
  const T z_last = fit.z;
  forward_ut(tracks, i, constant, pol, fit, memory);
  fit.move(fit.known().best());  // production evaluates the bend at the filtered q/p
  forward_magnet<false>(tracks, i, detector, pol, m, fit, memory);
  forward_scifi(tracks, i, constant, pol, fit, memory);

  const Parabola<T> forward = fit.known();
  fit.move(forward.best());
  last.k = fit.state.k;
  fit.state = last;
  fit.z = z_last;
  transport_back(memory, fit);
  Parabola<T> again{T(0), T(0), forward.weight};
  const Integer<T> n = load_integer<T>(tracks.velo_n + i);
  const Scalar<T>* backward = constant + layout::V + layout::V_columns;
  const T variance(detector.velo_variance), straight(0);
  for (int slot = velo_slots - 1; slot >= 0; --slot) {
    const Mask<T> measured = Integer<T>(slot) < n;
    if (!any(measured)) continue;
    const long at = slot * tracks.stride + i;
    const T z = select(measured, load<T>(tracks.velo_z + at), fit.z);
    JacobianV<T> f;
    // The last hit has been filtered at its own plane: the step has no length, and adds no scattering.
    const Noise<T> q = where(z < fit.z, noise_V<T>(backward, fit.state.k, fit.z, z, fit.state));
    step_V<T>(backward, pol, fit.z, z, fit.state, f);
    transport(f, fit.c);
    total_derivative(f, fit.by_k);
    add(q, fit.c);
    fit.z = z;
    T p[4];
    update<0, 1>(measured, load<T>(tracks.velo_x + at), variance, straight, fit, again, p);
    update<1, 0>(measured, load<T>(tracks.velo_y + at), variance, straight, fit, again, p);
  }
  // χ² stays that of the way forward.
  fit.Conditional<T>::move(again.best());
  track.x = fit.state.x;
  track.y = fit.state.y;
  track.tx = fit.state.tx;
  track.ty = fit.state.ty;
  track.qop = fit.state.k;
  track.xx = fit.c(0, 0);
  track.xtx = fit.c(2, 0);
  track.txtx = fit.c(2, 2);
  track.yy = fit.c(1, 1);
  track.yty = fit.c(3, 1);
  track.tyty = fit.c(3, 3);
  free_qop(fit.by_k, T(1) / again.weight, track);
  to_beamline(detector, pol, fit, track);
  return track;
}

template <class T>
KERNEL_FUNCTION Fitted<T> fit_forward_backward(const Candidates<Scalar<T>>& tracks, long i,
                                               const Detector<Scalar<T>>& detector) {
  MagnetCoefficients<T> m;
  return fit_forward_backward<T>(tracks, i, detector, m);
}

}  // namespace parkf::kalman::PARKF_FORMS
