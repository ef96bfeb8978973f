#pragma once
// The pass backward over the record of the forward filter. ρ and N are the gradient and the curvature of the χ² of all
// later hits. With them x + C·ρ and C − C·N·C are the state and covariance from all hits. The pass also compares each hit
// with all others. All of this is at the q/p of the fit. A second ρ, from the residuals' derivatives with respect to q/p,
// adds the uncertainty of q/p.

#include "fit/record.hpp"

namespace parkf::kalman::PARKF_FORMS {

/// A row of four numbers for x, y, tx, ty that goes back over the record, as ρ does.
template <class T>
struct Adjoint {
  T v[4];

  KERNEL_FUNCTION Adjoint() : v{T(0), T(0), T(0), T(0)} {}
  KERNEL_FUNCTION const T& operator[](int j) const { return v[j]; }

  /// Back over the strip of a UT or SciFi layer, which adds its `own` pull; return the change of x.
  KERNEL_FUNCTION T hit(const StripRecord<T>& r, const T& own) {
    const T before = v[0];
    v[1] += r.slope * v[0];
    v[0] = own + r.times_l(v[0], v[1], v[2], v[3]);
    v[1] -= r.slope * v[0];
    return v[0] - before;
  }
  /// Back over x (A = 0) or y (A = 1) of a VELO hit.
  template <int A>
  KERNEL_FUNCTION T pixel(const PixelRecord<T>& r, const T& own) {
    const T change = own - r.place * r.weight * v[A] - r.slope * r.weight * v[A + 2];
    v[A] += change;
    return change;
  }
  /// Along x (A = 0) or y (A = 1), by `place` and `slope`.
  template <int A>
  KERNEL_FUNCTION T along(const T& place, const T& slope) const {
    return place * v[A] + slope * v[A + 2];
  }
  KERNEL_FUNCTION void step(const Drift<T>& f) {
    v[2] += f.x_tx * v[0];
    v[3] += f.y_ty * v[1];
  }
  KERNEL_FUNCTION void step(const Levers<T>& f) {
    const T tx = product(f.to[0]), ty = product(f.to[1]);
    v[2] = tx;
    v[3] = ty;
  }
  KERNEL_FUNCTION void scale_tx(const T& factor) { v[2] = v[2] * factor; }
  KERNEL_FUNCTION T product(const T* column) const {
    return v[0] * column[0] + v[1] * column[1] + v[2] * column[2] + v[3] * column[3];
  }
};

/// A hit compared with all others. Let V be the covariance of the residuals r of the prediction from no hit, at the q/p of
/// the fit. Then w is this hit's element of V⁻¹r, d is its diagonal element of V⁻¹, and `by_k` is the decrease of w for
/// 1/MeV. The residual from the prediction by all other hits is w/d. If q/p is free, d is smaller by by_k²·σ²(q/p).
template <class T>
struct Compared {
  T w, d, by_k;
};

/// Looks at no hit.
template <class T>
struct NoLook {
  template <class Column, class Back>
  KERNEL_FUNCTION void see(int, int, const Compared<T>&, const T&, const Column&, const Back&) {}
  template <class Back>
  KERNEL_FUNCTION void step(const Back&) {}
};

/// The information of later hits for a filtered state. `seen` looks at each hit: see(axis, slot, compared hit, variance of
/// q/p, column, back). `column` returns the covariance of the hit's w with ρ, and `back` takes such a column of a later hit
/// back over this hit, and returns the covariance of both w. step(back) takes columns back over a step.
template <class T, class Seen = NoLook<T>>
struct Later {
  T qop_variance;
  Adjoint<T> rho, by_k;  // of the residuals, and of their decrease for 1/MeV
  Covariance<T> n;
  Seen seen;

  KERNEL_FUNCTION explicit Later(const T& qop_variance) : qop_variance(qop_variance) {
    for (T& e : n.elements) e = T(0);
  }

  /// Back over the strip of a UT or SciFi layer. In coordinates m = x - slope·y, y, tx, ty, it multiplies with
  /// L = (shrink, -gain), and nothing cancels: behind the magnet all but a hundredth of N would.
  KERNEL_FUNCTION void hit(int slot, const StripRecord<T>& r) {
    const T gain[4] = {T(1) - r.shrink, r.gain[0], r.gain[1], r.gain[2]}, s = r.slope;
    n(1, 1) += s * n(1, 0);
    n(1, 0) += s * n(0, 0);
    n(1, 1) += s * n(1, 0);
    n(2, 1) += s * n(2, 0);
    n(3, 1) += s * n(3, 0);

    const T w = rho.hit(r, r.pull), w_by_k = by_k.hit(r, r.by_k);
    T nl[4], change[4], d = r.weight;  // the covariance of w with ρ behind the hit is -change
    for (int j = 0; j < 4; ++j) {
      nl[j] = r.times_l(n(j, 0), n(j, 1), n(j, 2), n(j, 3));
      change[j] = n(j, 0) - nl[j];
      d += gain[j] * change[j];
    }
    n(0, 0) = r.weight + r.times_l(nl[0], nl[1], nl[2], nl[3]);
    for (int j = 1; j < 4; ++j) n(j, 0) = nl[j];
    const auto column = [&] {
      Adjoint<T> c;
      c.v[0] = d - change[0];
      for (int j = 1; j < 4; ++j) c.v[j] = -change[j];
      c.v[1] -= s * c.v[0];
      return c;
    };
    seen.see(0, slot, {w, d, w_by_k}, qop_variance, column, [&](Adjoint<T>& c) { return c.hit(r, T(0)); });

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
    const T own = nk(A), along = nk(slope), across = nk(other), across_slope = nk(other_slope);
    const T w = rho.template pixel<A>(r, r.pull), w_by_k = by_k.template pixel<A>(r, own_by_k);
    const T d = r.weight + gain * own + slope_gain * along;
    n(other, A) -= across;
    n(other_slope, A) -= across_slope;
    n(slope, A) -= along;
    n(A, A) += d - (own + own);
    const auto column = [&] {
      Adjoint<T> c;
      c.v[A] = d - own;
      c.v[slope] = -along;
      c.v[other] = -across;
      c.v[other_slope] = -across_slope;
      return c;
    };
    seen.see(A, slot, {w, d, w_by_k}, qop_variance, column,
             [&](Adjoint<T>& c) { return c.template pixel<A>(r, T(0)); });
  }

  /// Back over a step between two planes.
  KERNEL_FUNCTION void step(const Drift<T>& f) {
    rho.step(f);
    by_k.step(f);
    seen.step([&](Adjoint<T>& c) { c.step(f); });
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
    rho.step(f);
    by_k.step(f);
    seen.step([&](Adjoint<T>& c) { c.step(f); });
    T half[4][2];  // N·F, columns tx, ty
    for (int i = 0; i < 4; ++i) {
      for (int c = 0; c < 2; ++c) half[i][c] = product(n(i, 0), n(i, 1), n(i, 2), n(i, 3), f.to[c]);
    }
    for (int c = 0; c < 2; ++c) {
      n(2 + c, 0) = half[0][c];
      n(2 + c, 1) = half[1][c];
      for (int b = 0; b <= c; ++b) n(2 + c, 2 + b) = product(half[0][c], half[1][c], half[2][c], half[3][c], f.to[b]);
    }
  }

  /// Back over a factor on tx.
  KERNEL_FUNCTION void scale_tx(const T& factor) {
    rho.scale_tx(factor);
    by_k.scale_tx(factor);
    seen.step([&](Adjoint<T>& c) { c.scale_tx(factor); });
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

  /// Back over the VELO hits. `look(slot)` is called behind each hit, and `look_before(slot)` where the noise of the step to
  /// it was added.
  template <class Look, class LookBefore>
  KERNEL_FUNCTION void velo(const Record<T>& record, const Look& look, const LookBefore& look_before) {
    for (int slot = record.end - 1; slot >= 2; --slot) {
      look(slot);
      pixel<1>(slot, record.y[slot], T(0));
      pixel<0>(slot, record.x[slot], record.by_k[slot]);
      look_before(slot);
      step(record.steps[slot]);
    }
    look(1);
    start(record);
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
  KERNEL_FUNCTION State<T> smoothed_state(const Conditional<T>& filtered) const {
    State<T> s = filtered.state;
    T* const components[4] = {&s.x, &s.y, &s.tx, &s.ty};
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 4; ++j) *components[i] += filtered.c(i, j) * rho[j];
    }
    return s;
  }
  /// The same, with covariance and derivatives.
  KERNEL_FUNCTION Conditional<T> smoothed(const Conditional<T>& filtered) const {
    Conditional<T> result = filtered;
    const Covariance<T>& c = filtered.c;
    result.state = smoothed_state(filtered);
    for (int i = 0; i < 4; ++i) {
      T row[4];  // of C·N
      for (int j = 0; j < 4; ++j) {
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
    first.state[l] += rho.product(first.cross[l]);
    first.by_k[l] -= by_k.product(first.cross[l]);
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

  /// Compare the two hits of the start, slots 0 and 1. The state at the second one is (m₂, (m₂ − m₁)/Δ), so that w of a
  /// hit m is -ρ·∂(state)/∂m.
  KERNEL_FUNCTION void start(const Record<T>& record) {
    const T per_dz = record.lever / record.variance;
    start<0>(0, T(0), per_dz);
    start<1>(0, T(0), per_dz);
    start<0>(1, T(-1), -per_dz);
    start<1>(1, T(-1), -per_dz);
  }
  template <int A>
  KERNEL_FUNCTION void start(int slot, const T& place, const T& slope) {
    Adjoint<T> own;  // covariance of w with ρ
    for (int j = 0; j < 4; ++j) own.v[j] = place * n(j, A) + slope * n(j, A + 2);
    const auto back = [&](const Adjoint<T>& c) { return c.template along<A>(place, slope); };
    seen.see(A, slot, {back(rho), back(own), back(by_k)}, qop_variance, [&] { return own; }, back);
  }

  KERNEL_FUNCTION static T product(const T& a, const T& b, const T& c, const T& d, const T* v) {
    return a * v[0] + b * v[1] + c * v[2] + d * v[3];
  }
};

}  // namespace parkf::kalman::PARKF_FORMS
