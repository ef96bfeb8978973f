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

  /// Go back over a hit that measured component M - slope·O.
  template <int M, int O>
  KERNEL_FUNCTION void hit(int slot, const Measured<T>& r, const T& slope) {
    T nk[4], w = r.pull, w_by_k = r.by_k, d = r.weight;
    for (int j = 0; j < 4; ++j) {
      nk[j] = n(j, 0) * r.p[0];
      for (int l = 1; l < 4; ++l) nk[j] += n(j, l) * r.p[l];
      nk[j] = nk[j] * r.weight;
    }
    for (int j = 0; j < 4; ++j) {
      const T gain = r.p[j] * r.weight;
      w -= gain * rho[j];
      w_by_k -= gain * by_k[j];
      d += gain * nk[j];
    }
    compare(Integer<T>(slot), w, d, w_by_k);
    rho[M] += w;
    rho[O] -= slope * w;
    by_k[M] += w_by_k;
    by_k[O] -= slope * w_by_k;
    for (int j = 2; j < 4; ++j) {
      n(M, j) -= nk[j];
      n(O, j) += slope * nk[j];
    }
    n(O, M) += slope * (nk[M] - d) - nk[O];
    n(M, M) += d - (nk[M] + nk[M]);
    n(O, O) += slope * (nk[O] + nk[O] + slope * d);
  }

  /// Back over a step.
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

  /// Go back over the hit of a UT or SciFi layer and the steps to it; `step` is the number of steps that are left.
  KERNEL_FUNCTION void strip(const StripsRecord<T>& record, int strip, int& step) {
    const StripRecord<T>& r = record.hits[strip];
    hit<0, 1>(velo_slots + strip, r, r.slope);
    // From the first SciFi layer the way back is through the magnet to the last UT layer.
    for (const int end = step - (strip == ut_layers ? 3 : 1); step > end;) this->step(record.levers[--step]);
  }

  /// Compare one of the two hits of the start, which passes through both; `row` is the hit's covariance with the state.
  KERNEL_FUNCTION void start(const Integer<T>& slot, const T* row) {
    T w(0), w_by_k(0), d(0);
    for (int j = 0; j < 4; ++j) {
      w += row[j] * rho[j];
      w_by_k += row[j] * by_k[j];
      d += row[j] * product(n(j, 0), n(j, 1), n(j, 2), n(j, 3), row);
    }
    compare(slot, w, d, w_by_k);
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
  KERNEL_FUNCTION static T product(const T& a, const T& b, const T& c, const T& d, const T* v) {
    return a * v[0] + b * v[1] + c * v[2] + d * v[3];
  }
};

}  // namespace parkf::kalman::PARKF_FORMS
