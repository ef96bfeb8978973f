#pragma once
// State and covariance as LHCb's trigger carries them: q/p is the fifth component, and hits are rotated so that a
// strip's σ is across it.

#include "fit/state.hpp"

namespace parkf::kalman::trigger {

/// ∂(x, y, tx, ty)′/∂(x, y, tx, ty, q/p); q/p stays as it is.
template <class T>
struct Jacobian {
  T f[4][5];

  KERNEL_FUNCTION Jacobian() {
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 5; ++j) f[i][j] = T(i == j ? 1 : 0);
    }
  }
  KERNEL_FUNCTION T& operator()(int i, int j) { return f[i][j]; }
  KERNEL_FUNCTION const T& operator()(int i, int j) const { return f[i][j]; }
};

/// A square root as in the trigger: in single precision, whatever the type of its numbers. In double precision this
/// matters. The first SciFi hits reduce a variance of x from 1e4 to 1e-3 mm², and rounding of one part in 1e7 there is
/// visible in all later states.
template <class T>
KERNEL_FUNCTION T single_root(const T& a) {
  return single(root(single(a)));
}

/// after · before, into `before`.
template <class T>
KERNEL_FUNCTION void chain(const Jacobian<T>& after, Jacobian<T>& before) {
  for (int j = 0; j < 5; ++j) {
    T column[4];
    for (int i = 0; i < 4; ++i) {
      column[i] = j == 4 ? after(i, 4) : T(0);
      for (int m = 0; m < 4; ++m) column[i] += after(i, m) * before(m, j);
    }
    for (int i = 0; i < 4; ++i) before(i, j) = column[i];
  }
}

/// Symmetric 5×5, order (x, y, tx, ty, q/p), its lower triangle row by row.
template <class T>
struct Covariance5 {
  T elements[15];

  KERNEL_FUNCTION T& operator()(int i, int j) { return elements[i < j ? j * (j + 1) / 2 + i : i * (i + 1) / 2 + j]; }
  KERNEL_FUNCTION const T& operator()(int i, int j) const {
    return elements[i < j ? j * (j + 1) / 2 + i : i * (i + 1) / 2 + j];
  }
};

/// C ← F C Fᵀ.
template <class T>
KERNEL_FUNCTION void transport(const Jacobian<T>& f, Covariance5<T>& c) {
  T half[5][5];  // F C
  for (int j = 0; j < 5; ++j) {
    for (int i = 0; i < 4; ++i) {
      half[i][j] = f(i, 0) * c(0, j);
      for (int m = 1; m < 5; ++m) half[i][j] += f(i, m) * c(m, j);
    }
    half[4][j] = c(4, j);
  }
  for (int i = 0; i < 5; ++i) {
    for (int j = 0; j <= i && j < 4; ++j) {
      T sum = half[i][0] * f(j, 0);
      for (int m = 1; m < 5; ++m) sum += half[i][m] * f(j, m);
      c(i, j) = sum;
    }
  }
}

template <class T>
KERNEL_FUNCTION void add(const Noise<T>& q, Covariance5<T>& c) {
  c(0, 0) += q.xx;
  c(2, 0) += q.xtx;
  c(2, 2) += q.txtx;
  c(1, 1) += q.yy;
  c(3, 1) += q.yty;
  c(3, 3) += q.tyty;
}

/// The inverse of F. The rows of F for positions are close to (1 | lever).
template <class T>
KERNEL_FUNCTION Jacobian<T> inverse(const Jacobian<T>& f) {
  // Gauss-Jordan elimination of the 4×4 block, without pivoting, because its diagonal is close to one.
  T a[4][4], b[4][4];
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) {
      a[i][j] = f(i, j);
      b[i][j] = T(i == j ? 1 : 0);
    }
  }
  for (int p = 0; p < 4; ++p) {
    const T scale = T(1) / a[p][p];
    for (int j = 0; j < 4; ++j) {
      a[p][j] = a[p][j] * scale;
      b[p][j] = b[p][j] * scale;
    }
    for (int i = 0; i < 4; ++i) {
      if (i == p) continue;
      const T factor = a[i][p];
      for (int j = 0; j < 4; ++j) {
        a[i][j] -= factor * a[p][j];
        b[i][j] -= factor * b[p][j];
      }
    }
  }
  Jacobian<T> result;
  for (int i = 0; i < 4; ++i) {
    T shift(0);
    for (int j = 0; j < 4; ++j) {
      result(i, j) = b[i][j];
      shift += b[i][j] * f(j, 4);
    }
    result(i, 4) = -shift;
  }
  return result;
}

/// The quantities that the filter carries from plane to plane.
template <class T>
struct Track {
  State<T> s;
  Covariance5<T> c;
  T z;

  KERNEL_FUNCTION void shift(int i, const T& change) {
    if (i == 0) s.x += change;
    else if (i == 1) s.y += change;
    else if (i == 2) s.tx += change;
    else if (i == 3) s.ty += change;
    else s.k += change;
  }
};

/// Update with a pixel hit; returns its χ².
template <class T>
KERNEL_FUNCTION T update_pixel(const Mask<T>& measured, const T& x, const T& y, const T& variance, Track<T>& track) {
  const T zero(0), one(1);
  Covariance5<T>& c = track.c;
  const T rx = select(measured, T(x - track.s.x), zero), ry = select(measured, T(y - track.s.y), zero);
  const T sxx = select(measured, T(variance + c(0, 0)), one), syy = select(measured, T(variance + c(1, 1)), one);
  const T sxy = select(measured, c(1, 0), zero);
  const T per = one / (sxx * syy - sxy * sxy);
  const T wxx = syy * per, wxy = -sxy * per, wyy = sxx * per;
  T gx[5], gy[5];
  for (int i = 0; i < 5; ++i) {
    const T px = select(measured, c(i, 0), zero), py = select(measured, c(i, 1), zero);
    gx[i] = px * wxx + py * wxy;
    gy[i] = px * wxy + py * wyy;
  }
  for (int i = 0; i < 5; ++i) {
    track.shift(i, gx[i] * rx + gy[i] * ry);
    const T sx = gx[i] * sxx + gy[i] * sxy, sy = gx[i] * sxy + gy[i] * syy;
    for (int j = 0; j <= i; ++j) c(i, j) -= sx * gx[j] + sy * gy[j];
  }
  return rx * (wxx * rx + wxy * ry) + ry * (wxy * rx + wyy * ry);
}

/// Update with a strip, x − slope·y; return its χ². As in the trigger, the root of the residual's variance is computed
/// in single precision, and with a negative variance the track becomes NaN.
template <class T>
KERNEL_FUNCTION T update_strip(const Mask<T>& measured, const T& x, const T& slope, const T& variance,
                               const T& length, Track<T>& track) {
  const T zero(0), one(1);
  Covariance5<T>& c = track.c;
  const T across = length / single_root(length * length * (one + slope * slope)), along = -slope * across;
  const T r = select(measured, T(across * (x - track.s.x) - along * track.s.y), zero);
  T p[5];
  for (int i = 0; i < 5; ++i) p[i] = c(i, 0) * across + c(i, 1) * along;
  const T s = select(measured, T(variance + p[0] * across + p[1] * along), one);
  const T width = single_root(s);
  T gain[5];
  for (int i = 0; i < 5; ++i) {
    gain[i] = select(measured, p[i] / s, zero);
    track.shift(i, r * gain[i]);
    gain[i] = gain[i] * width;
  }
  for (int i = 0; i < 5; ++i) {
    for (int j = 0; j <= i; ++j) c(i, j) -= gain[i] * gain[j];
  }
  return r * r / s;
}

}  // namespace parkf::kalman::trigger
