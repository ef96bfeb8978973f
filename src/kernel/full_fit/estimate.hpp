#pragma once
// A track's state of five parameters with its covariance, and a filter's operations on them; one track in each lane.

#include "transport/propagate_jacobian.hpp"

namespace parkf::full_fit {

enum Parameter { X, Y, TX, TY, QOP };

/// Return q/p after a loss of energy (a negative one is a gain), and its derivative with respect to q/p before the
/// loss.
template <class T>
KERNEL_FUNCTION T changed_energy(const T& qop, const T& loss, double mass, T& derivative) {
  const T momentum = 1.0 / magnitude(qop);
  const T before = root(T(momentum * momentum + mass * mass));
  const T after = larger(T(before - loss), T(mass * (1.0 + 1e-3)));
  const T momentum_after = root(T(after * after - mass * mass));
  const T ratio = momentum / momentum_after;
  derivative = ratio * ratio * ratio * after / before;
  return side(qop) / momentum_after;
}

template <class T>
struct Estimate {
  T state[5];        // x, y, tx, ty, q/p in mm, rad, 1/MeV
  T covariance[15];  // lower triangle
  T z;               // mm
  double dzdx, dzdy;  // of the planes that the states move in

  static constexpr int at(int i, int j) { return i < j ? j * (j + 1) / 2 + i : i * (i + 1) / 2 + j; }
  KERNEL_FUNCTION T& c(int i, int j) { return covariance[at(i, j)]; }
  KERNEL_FUNCTION const T& c(int i, int j) const { return covariance[at(i, j)]; }

  /// The expected states if q/p is the reference. Before a filter has passed the magnet, it determines q/p poorly, and
  /// the point of linearisation must not follow it.
  KERNEL_FUNCTION void expected(const T& reference, T (&result)[5]) const {
    const T share = (reference - state[QOP]) / c(QOP, QOP);
    for (int i = 0; i < 5; ++i) result[i] = state[i] + c(i, QOP) * share;
  }

  /// Filter x − slope·y = hit; return χ².
  KERNEL_FUNCTION T measure_x(const T& hit, const T& slope, const T& variance, const Mask<T>& where) {
    T with_hit[5];
    for (int i = 0; i < 5; ++i) with_hit[i] = c(i, X) - slope * c(i, Y);
    const T predicted = with_hit[X] - slope * with_hit[Y] + variance;
    return take(with_hit, T(hit - (state[X] - slope * state[Y])), predicted, where);
  }

  /// Filter y = hit; return χ².
  KERNEL_FUNCTION T measure_y(const T& hit, const T& variance, const Mask<T>& where) {
    T with_hit[5];
    for (int i = 0; i < 5; ++i) with_hit[i] = c(i, Y);
    return take(with_hit, T(hit - state[Y]), T(with_hit[Y] + variance), where);
  }

  /// Add the scattering of a thin layer by a projected angle of this width.
  KERNEL_FUNCTION void scatter(const T& angle) {
    const T &tx = state[TX], &ty = state[TY];
    const T square = (1.0 + tx * tx + ty * ty) * angle * angle;
    c(TX, TX) += (1.0 + tx * tx) * square;
    c(TY, TY) += (1.0 + ty * ty) * square;
    c(TX, TY) += tx * ty * square;
  }

  /// Replace q/p: `from` becomes `to`, and q/p near `from` changes with this derivative.
  KERNEL_FUNCTION void change_qop(const T& from, const T& to, const T& derivative, const Mask<T>& where) {
    const T factor = select(where, derivative, T(1.0));
    state[QOP] = select(where, T(to + factor * (state[QOP] - from)), state[QOP]);
    for (int i = 0; i < 4; ++i) c(QOP, i) = c(QOP, i) * factor;
    c(QOP, QOP) = c(QOP, QOP) * factor * factor;
  }

  /// Move the tracks for which `moved` holds. `from` was carried to `to`, with these derivatives with respect to x, y,
  /// … at its z.
  KERNEL_FUNCTION void carry(const T (&from)[5], const transport::State<T>& to, transport::Jacobian<T>& f,
                             const Mask<T>& moved) {
    if (dzdx != 0.0 || dzdy != 0.0) {
      // If a state moves within its leaning plane, then at the old z it shifts along the track.
      for (auto& row : f.of) {
        const T along = row[X] * from[TX] + row[Y] * from[TY];
        row[X] -= along * dzdx;
        row[Y] -= along * dzdy;
      }
    }
    const T ends[4] = {to.x, to.y, to.tx, to.ty};
    T difference[5], half[4][5];
    for (int j = 0; j < 5; ++j) difference[j] = state[j] - from[j];
    for (int i = 0; i < 4; ++i) {
      T end = ends[i];
      for (int j = 0; j < 5; ++j) {
        end += f.of[i][j] * difference[j];
        half[i][j] = f.of[i][0] * c(0, j);
        for (int k = 1; k < 5; ++k) half[i][j] += f.of[i][k] * c(k, j);
      }
      state[i] = select(moved, end, state[i]);
    }
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j <= i; ++j) {
        T sum = half[i][0] * f.of[j][0];
        for (int k = 1; k < 5; ++k) sum += half[i][k] * f.of[j][k];
        c(i, j) = select(moved, sum, c(i, j));
      }
      c(QOP, i) = select(moved, half[i][QOP], c(QOP, i));
    }
    z = select(moved, to.z, z);
  }

 private:
  KERNEL_FUNCTION T take(const T (&with_hit)[5], const T& residual, const T& predicted, const Mask<T>& where) {
    const T inverse = select(where, T(1.0 / predicted), T(0.0));
    const T seen = select(where, residual, T(0.0));
    for (int i = 0; i < 5; ++i) {
      const T gain = with_hit[i] * inverse;
      state[i] += gain * seen;
      for (int j = 0; j <= i; ++j) c(i, j) -= gain * with_hit[j];
    }
    return seen * seen * inverse;
  }
};

}  // namespace parkf::full_fit
