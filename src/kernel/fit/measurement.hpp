#pragma once
// Updates with one measured coordinate, in a form that never subtracts nearly equal numbers: the measured row of the
// covariance is multiplied by R/S, and K·S·Kᵀ is not subtracted from it.
//
// All updates are at given q/p. The information of hits on q/p itself is in the parabola and in the derivatives with
// respect to q/p.

#include "fit/parabola.hpp"
#include "fit/state.hpp"

namespace parkf::kalman {

/// A state at given q/p, its covariance at that q/p, and its derivatives: the changes of x, y, tx, ty for 1/MeV.
template <class T>
struct Conditional {
  State<T> state;
  Covariance<T> c;
  T by_k[4];

  /// Change to a q/p that is larger by `change`.
  KERNEL_FUNCTION void move(const T& change) {
    state.x += by_k[0] * change;
    state.y += by_k[1] * change;
    state.tx += by_k[2] * change;
    state.ty += by_k[3] * change;
    state.k += change;
  }
};

/// The state where a track begins, carried along as later hits improve it (fixed-point smoothing).
template <class T>
struct Smoothed {
  T state[4];     // x, y, tx, ty
  T by_k[4];      // and their derivatives
  T cross[4][4];  // its covariance with the current state

  KERNEL_FUNCTION void move(const T& change) {
    for (int l = 0; l < 4; ++l) state[l] += by_k[l] * change;
  }
};

/// That of a track that begins at a VELO hit, with the published elements of its covariance.
template <class T>
struct FirstState : Smoothed<T> {
  T xx, xtx, txtx, yy, yty, tyty;
};

/// A measurement. A track without this measurement has weight 0 and shrink 1: nothing changes.
template <class T>
struct Innovation {
  T pull;    // residual / S
  T weight;  // 1 / S
  T shrink;  // R / S
  T by_k;    // decrease of the pull for 1/MeV
  T chi2;    // residual² / S

  /// Add to the parabola the information of a coordinate on q/p; `slope` is its derivative with respect to q/p.
  KERNEL_FUNCTION void tell(const T& slope, Parabola<T>& hits) {
    by_k = slope * weight;
    hits.pull += slope * pull;
    hits.weight += slope * by_k;
  }
};

template <class T>
KERNEL_FUNCTION Innovation<T> innovation(const Mask<T>& measured, const T& residual, const T& variance,
                                         const T& predicted_variance, Parabola<T>& hits) {
  const T zero(0), one(1);
  const T weight = select(measured, one / (predicted_variance + variance), zero);
  const T known = select(measured, residual, zero);
  const T pull = known * weight, chi2 = known * pull;
  hits.chi2 += chi2;
  return {pull, weight, select(measured, variance * weight, one), zero, chi2};
}

/// Update with a measurement of component M - slope·O, where M and O are x and y in either order. `p` receives the
/// covariance of the state with the measured combination.
template <int M, int O, class T>
KERNEL_FUNCTION Innovation<T> update(const Mask<T>& measured, const T& value, const T& variance, const T& slope,
                                     Conditional<T>& at, Parabola<T>& hits, T* p) {
  State<T>& s = at.state;
  Covariance<T>& c = at.c;
  for (int j = 0; j < 4; ++j) p[j] = c(M, j) - slope * c(O, j);
  const T predicted = M == 0 ? s.x - slope * s.y : s.y - slope * s.x;
  const T by_k = at.by_k[M] - slope * at.by_k[O];
  Innovation<T> u = innovation<T>(measured, value - predicted, variance, p[M] - slope * p[O], hits);
  u.tell(by_k, hits);
  s.x += p[0] * u.pull;
  s.y += p[1] * u.pull;
  s.tx += p[2] * u.pull;
  s.ty += p[3] * u.pull;
  for (int l = 0; l < 4; ++l) {
    if (l == M) continue;
    at.by_k[l] -= p[l] * u.by_k;
    const T scaled = p[l] * u.weight;
    for (int j = 0; j <= l; ++j) {
      if (j != M) c(l, j) -= scaled * p[j];
    }
  }
  at.by_k[M] = u.shrink * by_k + slope * at.by_k[O];
  for (int j = 0; j < 4; ++j) {
    if (j != M) c(M, j) = u.shrink * p[j] + slope * c(O, j);
  }
  c(M, M) = u.shrink * p[M] + slope * c(M, O);
  return u;
}

/// The same measurement's effect on one number of the first state; returns the covariance of both.
template <class T>
KERNEL_FUNCTION T update_first(int l, const Innovation<T>& u, const T& slope, const T* p, Smoothed<T>& first) {
  T* row = first.cross[l];
  const T v = row[0] - slope * row[1];
  first.state[l] += v * u.pull;
  first.by_k[l] -= v * u.by_k;
  const T scaled = v * u.weight;
  for (int j = 1; j < 4; ++j) row[j] -= scaled * p[j];
  row[0] = u.shrink * v + slope * row[1];
  return v;
}

/// Update x and tx of the first state.
template <class T>
KERNEL_FUNCTION void update_first_x(const Innovation<T>& u, const T& slope, const T* p, FirstState<T>& first) {
  const T x = update_first(0, u, slope, p, first), tx = update_first(2, u, slope, p, first);
  const T weighted = x * u.weight;
  first.xx -= weighted * x;
  first.xtx -= weighted * tx;
  first.txtx -= tx * u.weight * tx;
}

/// Update y and ty of the first state.
template <class T>
KERNEL_FUNCTION void update_first_y(const Innovation<T>& u, const T& slope, const T* p, FirstState<T>& first) {
  const T y = update_first(1, u, slope, p, first), ty = update_first(3, u, slope, p, first);
  const T weighted = y * u.weight;
  first.yy -= weighted * y;
  first.yty -= weighted * ty;
  first.tyty -= ty * u.weight * ty;
}

/// Update with x of a VELO hit, while x, tx, q/p are uncorrelated with y, ty.
template <class T>
KERNEL_FUNCTION Innovation<T> update_velo_x(const Mask<T>& measured, const T& value, const T& variance,
                                            Conditional<T>& at, Parabola<T>& hits, T* p) {
  State<T>& s = at.state;
  Covariance<T>& c = at.c;
  p[0] = c(0, 0);
  p[2] = c(2, 0);
  Innovation<T> u = innovation<T>(measured, value - s.x, variance, p[0], hits);
  u.tell(at.by_k[0], hits);
  s.x += p[0] * u.pull;
  s.tx += p[2] * u.pull;
  at.by_k[2] -= p[2] * u.by_k;
  at.by_k[0] = u.shrink * at.by_k[0];
  c(2, 2) -= p[2] * p[2] * u.weight;
  c(0, 0) = u.shrink * p[0];
  c(2, 0) = u.shrink * p[2];
  return u;
}

/// Update with y of a VELO hit, under the same condition.
template <class T>
KERNEL_FUNCTION Innovation<T> update_velo_y(const Mask<T>& measured, const T& value, const T& variance,
                                            Conditional<T>& at, Parabola<T>& hits, T* p) {
  State<T>& s = at.state;
  Covariance<T>& c = at.c;
  p[1] = c(1, 1);
  p[3] = c(3, 1);
  const Innovation<T> u = innovation<T>(measured, value - s.y, variance, p[1], hits);
  s.y += p[1] * u.pull;
  s.ty += p[3] * u.pull;
  c(3, 3) -= p[3] * p[3] * u.weight;
  c(1, 1) = u.shrink * p[1];
  c(3, 1) = u.shrink * p[3];
  return u;
}

/// Update the first state with the same coordinate of a VELO hit.
template <class T>
KERNEL_FUNCTION void update_first_velo_x(const Innovation<T>& u, const T* p, FirstState<T>& first) {
  T* const rows[2] = {first.cross[0], first.cross[2]};
  const T v[2] = {rows[0][0], rows[1][0]};
  for (int l = 0; l < 2; ++l) {
    first.state[2 * l] += v[l] * u.pull;
    first.by_k[2 * l] -= v[l] * u.by_k;
    rows[l][2] -= v[l] * u.weight * p[2];
    rows[l][0] = u.shrink * v[l];
  }
  first.xx -= v[0] * v[0] * u.weight;
  first.xtx -= v[0] * v[1] * u.weight;
  first.txtx -= v[1] * v[1] * u.weight;
}

template <class T>
KERNEL_FUNCTION void update_first_velo_y(const Innovation<T>& u, const T* p, FirstState<T>& first) {
  T* const rows[2] = {first.cross[1], first.cross[3]};
  const T v[2] = {rows[0][1], rows[1][1]};
  first.state[1] += v[0] * u.pull;
  first.state[3] += v[1] * u.pull;
  for (int l = 0; l < 2; ++l) {
    rows[l][3] -= v[l] * u.weight * p[3];
    rows[l][1] = u.shrink * v[l];
  }
  first.yy -= v[0] * v[0] * u.weight;
  first.yty -= v[0] * v[1] * u.weight;
  first.tyty -= v[1] * v[1] * u.weight;
}

}  // namespace parkf::kalman
