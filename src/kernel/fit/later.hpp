#pragma once
// The pass backward over the record of the forward filter. ρ and N are the gradient and the curvature of the χ² of all
// later hits. With them x + C·ρ and C − C·N·C are the state and covariance from all hits. The pass also computes the
// residual of each hit against all others, u² = w²/D. All of this is at the q/p of the fit. A second ρ, from the
// residuals' derivatives with respect to q/p, adds the uncertainty of q/p.

#include "fit/record.hpp"

namespace parkf::kalman::PARKF_FORMS {

/// The information of later hits for a filtered state, and the hit that agrees least with all others.
template <class T>
struct Later {
  T qop_variance;
  T rho[4], by_k[4];  // of the residuals, and of their decrease for 1/MeV
  Covariance<T> n;
  T worst;  // u²
  Integer<T> worst_slot;

  KERNEL_FUNCTION explicit Later(const T& qop_variance) : qop_variance(qop_variance), worst(T(0)), worst_slot(-1) {
    for (int j = 0; j < 4; ++j) rho[j] = by_k[j] = T(0);
    for (T& e : n.elements) e = T(0);
  }

  /// Compare w²/D of a hit with the worst one; `slope` is the decrease of w for 1/MeV.
  KERNEL_FUNCTION void compare(const Integer<T>& slot, const T& w, const T& d, const T& slope) {
    const T zero(0), left = d - slope * slope * qop_variance;
    const T u2 = select(left > zero, w * w / left, zero);
    const Mask<T> worse = worst < u2;
    worst = select(worse, u2, worst);
    worst_slot = select(worse, slot, worst_slot);
  }

  /// Back over the strip of a UT or SciFi layer. In coordinates m = x - slope·y, y, tx, ty, it multiplies with
  /// L = (shrink, -gain), and nothing cancels: behind the magnet all but a hundredth of N would.
  KERNEL_FUNCTION void hit(int slot, const StripRecord<T>& r) {
    const T gain[4] = {T(1) - r.shrink, r.gain[0], r.gain[1], r.gain[2]};
    const T own_rho = rho[0], own_by_k = by_k[0], s = r.slope;
    rho[1] += s * rho[0];
    by_k[1] += s * by_k[0];
    n(1, 1) += s * n(1, 0);
    n(1, 0) += s * n(0, 0);
    n(1, 1) += s * n(1, 0);
    n(2, 1) += s * n(2, 0);
    n(3, 1) += s * n(3, 0);

    rho[0] = r.pull + times_l(rho[0], rho[1], rho[2], rho[3], r);
    by_k[0] = r.by_k + times_l(by_k[0], by_k[1], by_k[2], by_k[3], r);
    T nl[4], d = r.weight;
    for (int j = 0; j < 4; ++j) {
      nl[j] = times_l(n(j, 0), n(j, 1), n(j, 2), n(j, 3), r);
      d += gain[j] * (n(j, 0) - nl[j]);
    }
    n(0, 0) = r.weight + times_l(nl[0], nl[1], nl[2], nl[3], r);
    for (int j = 1; j < 4; ++j) n(j, 0) = nl[j];
    compare(Integer<T>(slot), rho[0] - own_rho, d, by_k[0] - own_by_k);

    rho[1] -= s * rho[0];
    by_k[1] -= s * by_k[0];
    n(1, 1) -= s * n(1, 0);
    n(1, 0) -= s * n(0, 0);
    n(1, 1) -= s * n(1, 0);
    n(2, 1) -= s * n(2, 0);
    n(3, 1) -= s * n(3, 0);
  }

  /// Back over x (A = 0) or y (A = 1) of a VELO hit, which has the derivative `own_by_k`.
  template <int A>
  KERNEL_FUNCTION void pixel(int slot, const PixelRecord<T>& r, const T& own_by_k) {
    constexpr int slope = A + 2, other = 1 - A, other_slope = 3 - A;
    const T gain = r.place * r.weight, slope_gain = r.slope * r.weight;
    const auto nk = [&](int j) { return n(j, A) * gain + n(j, slope) * slope_gain; };
    const T own = nk(A), along = nk(slope);
    const T w = r.pull - gain * rho[A] - slope_gain * rho[slope];
    const T w_by_k = own_by_k - gain * by_k[A] - slope_gain * by_k[slope];
    const T d = r.weight + gain * own + slope_gain * along;
    compare(Integer<T>(slot), w, d, w_by_k);
    rho[A] += w;
    by_k[A] += w_by_k;
    n(other, A) -= nk(other);
    n(other_slope, A) -= nk(other_slope);
    n(slope, A) -= along;
    n(A, A) += d - (own + own);
  }

  /// Back over a step between two planes.
  KERNEL_FUNCTION void step(const Drift<T>& f) {
    rho[2] += f.x_tx * rho[0];
    rho[3] += f.y_ty * rho[1];
    by_k[2] += f.x_tx * by_k[0];
    by_k[3] += f.y_ty * by_k[1];
    const T tx = n(2, 2) + f.x_tx * n(2, 0), ty = n(3, 3) + f.y_ty * n(3, 1);
    n(2, 0) += f.x_tx * n(0, 0);
    n(2, 1) += f.x_tx * n(1, 0);
    n(3, 2) += f.x_tx * n(3, 0);
    n(2, 2) = tx + f.x_tx * n(2, 0);
    n(3, 0) += f.y_ty * n(1, 0);
    n(3, 1) += f.y_ty * n(1, 1);
    n(3, 2) += f.y_ty * n(2, 1);
    n(3, 3) = ty + f.y_ty * n(3, 1);
  }

  /// Back over the magnet.
  KERNEL_FUNCTION void step(const Levers<T>& f) {
    T half[4][2];  // N·F, columns tx, ty
    for (int i = 0; i < 4; ++i) {
      for (int c = 0; c < 2; ++c) half[i][c] = product(n(i, 0), n(i, 1), n(i, 2), n(i, 3), f.to[c]);
    }
    T carried[2], carried_by_k[2];
    for (int c = 0; c < 2; ++c) {
      carried[c] = product(rho[0], rho[1], rho[2], rho[3], f.to[c]);
      carried_by_k[c] = product(by_k[0], by_k[1], by_k[2], by_k[3], f.to[c]);
    }
    for (int c = 0; c < 2; ++c) {
      rho[2 + c] = carried[c];
      by_k[2 + c] = carried_by_k[c];
      n(2 + c, 0) = half[0][c];
      n(2 + c, 1) = half[1][c];
      for (int b = 0; b <= c; ++b) n(2 + c, 2 + b) = product(half[0][c], half[1][c], half[2][c], half[3][c], f.to[b]);
    }
  }

  /// Back over a factor on tx.
  KERNEL_FUNCTION void scale_tx(const T& factor) {
    rho[2] = rho[2] * factor;
    by_k[2] = by_k[2] * factor;
    for (int j = 0; j < 4; ++j) n(2, j) = n(2, j) * factor;
    n(2, 2) = n(2, 2) * factor;
  }

  /// Back over the hit of a UT or SciFi layer, and over the steps to it. `look` is called where their noise was added.
  template <class Look>
  KERNEL_FUNCTION void strip(const StripsRecord<T>& record, int strip, const Look& look) {
    hit(velo_slots + strip, record.hits[strip]);
    if (strip == ut_layers) {
      // From the first SciFi layer the way back is through the magnet to the last UT layer.
      step(record.drifts[strip + 1]);
      look();
      step(record.magnet);
    } else {
      look();
    }
    if (strip == 0) scale_tx(record.bend);
    step(record.drifts[strip > ut_layers ? strip + 1 : strip]);
  }
  KERNEL_FUNCTION void strip(const StripsRecord<T>& record, int number) {
    strip(record, number, [] {});
  }

  /// Back over the VELO hits. The state at the second hit of the start passes through both hits of the start: `lever` is
  /// its slope's covariance with the second, and has the other sign with the first, with which its place has none.
  KERNEL_FUNCTION void velo(const Record<T>& record) {
    for (int slot = record.end - 1; slot >= 2; --slot) {
      pixel<1>(slot, record.y[slot], T(0));
      pixel<0>(slot, record.x[slot], record.by_k[slot]);
      step(record.steps[slot]);
    }
    start<0>(Integer<T>(0), T(0), -record.lever);
    start<1>(Integer<T>(0), T(0), -record.lever);
    start<0>(record.second, record.variance, record.lever);
    start<1>(record.second, record.variance, record.lever);
  }

  /// Let x and tx of the first state, which are correlated with the state here, know of all later hits.
  KERNEL_FUNCTION void improve_x(FirstState<T>& first) const {
    improve(first.cross[0], first.cross[2], first.xx, first.xtx, first.txtx);
    improve(first, 0);
    improve(first, 2);
  }
  /// Let y and ty know of them.
  KERNEL_FUNCTION void improve_y(FirstState<T>& first) const {
    improve(first.cross[1], first.cross[3], first.yy, first.yty, first.tyty);
    improve(first, 1);
    improve(first, 3);
  }

  /// Return a filtered state with the information of all later hits.
  KERNEL_FUNCTION Conditional<T> smoothed(const Conditional<T>& filtered) const {
    Conditional<T> result = filtered;
    const Covariance<T>& c = filtered.c;
    T* const components[4] = {&result.state.x, &result.state.y, &result.state.tx, &result.state.ty};
    for (int i = 0; i < 4; ++i) {
      T row[4];  // of C·N
      for (int j = 0; j < 4; ++j) {
        *components[i] += c(i, j) * rho[j];
        result.by_k[i] -= c(i, j) * by_k[j];
        const T column[4] = {n(0, j), n(1, j), n(2, j), n(3, j)};
        row[j] = product(c(i, 0), c(i, 1), c(i, 2), c(i, 3), column);
      }
      for (int j = 0; j <= i; ++j) {
        for (int l = 0; l < 4; ++l) result.c(i, j) -= row[l] * c(l, j);
      }
    }
    return result;
  }

 private:
  KERNEL_FUNCTION void improve(FirstState<T>& first, int l) const {
    first.state[l] += product(rho[0], rho[1], rho[2], rho[3], first.cross[l]);
    first.by_k[l] -= product(by_k[0], by_k[1], by_k[2], by_k[3], first.cross[l]);
  }
  /// The covariance aa, ab, bb of two numbers whose covariances with the state here are `a` and `b`.
  KERNEL_FUNCTION void improve(const T* a, const T* b, T& aa, T& ab, T& bb) const {
    for (int j = 0; j < 4; ++j) {
      const T na = product(n(j, 0), n(j, 1), n(j, 2), n(j, 3), a), nb = product(n(j, 0), n(j, 1), n(j, 2), n(j, 3), b);
      aa -= na * a[j];
      ab -= na * b[j];
      bb -= nb * b[j];
    }
  }

  KERNEL_FUNCTION static T times_l(const T& a, const T& b, const T& c, const T& d, const StripRecord<T>& r) {
    return r.shrink * a - r.gain[0] * b - r.gain[1] * c - r.gain[2] * d;
  }

  /// x (A = 0) or y (A = 1) of a hit of the start, by its covariance with this coordinate and its slope.
  template <int A>
  KERNEL_FUNCTION void start(const Integer<T>& slot, const T& place, const T& slope) {
    constexpr int b = A + 2;
    const T d = place * (place * n(A, A) + T(2) * slope * n(b, A)) + slope * slope * n(b, b);
    compare(slot, place * rho[A] + slope * rho[b], d, place * by_k[A] + slope * by_k[b]);
  }

  KERNEL_FUNCTION static T product(const T& a, const T& b, const T& c, const T& d, const T* v) {
    return a * v[0] + b * v[1] + c * v[2] + d * v[3];
  }
};

}  // namespace parkf::kalman::PARKF_FORMS
