#pragma once
// Through the magnet by table: the coefficients of six bins, interpolated, and polynomials in f = h·p_min.

#include "steps_generated.hpp"

namespace parkf::kalman::PARKF_FORMS {

/// Below the trained momenta, |f| > f_max, the polynomials go on as straight lines.
constexpr double f_max = 1.05;

/// Of x, y, tx and ty, two each: the bend is even in the place across the magnet, so that its change with the place
/// begins with f².
constexpr int leading_count = 8;

/// The 80 coefficients for a place at z_in, and whether it lies beyond the grid.
template <class T>
struct MagnetCoefficients {
  T c[bin::count];
  Mask<T> outside;
  // How the leading coefficients, those of f and f² without u, change with the slopes, where these choose the bins.
  T to_tx[leading_count], to_ty[leading_count];
};

/// Nearest bin among those with neighbours, direction of the neighbours, and distance from its centre in bins.
template <class T>
struct BinPlace {
  Integer<T> nearest, direction;
  T distance, side;
  Mask<T> outside;
};

/// `place`: position between -1 and 1 on an axis of `bins` bins.
template <class T>
KERNEL_FUNCTION BinPlace<T> bin_place(const T& place, int bins) {
  using S = Scalar<T>;
  const T at = (place + T(1)) * T(S(0.5) * S(bins));
  // In this order NaN ends up in the grid, too: it must not become an address.
  const T nearest = smaller(larger(round_down(at), T(1)), T(S(bins - 2)));
  const T offset = at - nearest - T(S(0.5));
  const Mask<T> left = offset < T(0);
  return {to_integer(nearest), select(left, Integer<T>(-1), Integer<T>(1)), smaller(magnitude(offset), T(S(1.5))),
          select(left, T(-1), T(1)), magnitude(place) > T(1)};
}

/// Sum of the weighted coefficients of six bins, for one track.
template <class S>
KERNEL_FUNCTION void mix_bins(const float* table, const BinPlace<S>& x, const BinPlace<S>& y, const S* w, S* c) {
  const float* rows[6];
  for (int n = 0; n < 6; ++n) {
    const int ix = x.nearest + x.direction * neighbour_x(n);
    const int iy = y.nearest + y.direction * neighbour_y(n);
    rows[n] = table + (ix * bin::ny + iy) * bin::count;
  }
  for (int i = 0; i < bin::count; ++i) {
    S sum = w[0] * S(rows[0][i]);
    for (int n = 1; n < 6; ++n) sum += w[n] * S(rows[n][i]);
    c[i] = sum;
  }
}

/// The same sums of the leading coefficients only, with two sets of weights.
template <class S>
KERNEL_FUNCTION void mix_leading(const float* table, const BinPlace<S>& x, const BinPlace<S>& y, const S* w_a,
                                 const S* w_b, S* by_a, S* by_b) {
  constexpr int leading[leading_count] = {bin::x_u0,  bin::x_u0 + 1,  bin::y_u0,  bin::y_u0 + 1,
                                          bin::tx_u0, bin::tx_u0 + 1, bin::ty_u0, bin::ty_u0 + 1};
  for (int i = 0; i < leading_count; ++i) by_a[i] = by_b[i] = S(0);
  for (int n = 0; n < 6; ++n) {
    const int ix = x.nearest + x.direction * neighbour_x(n);
    const int iy = y.nearest + y.direction * neighbour_y(n);
    const float* row = table + (ix * bin::ny + iy) * bin::count;
    for (int i = 0; i < leading_count; ++i) {
      by_a[i] += w_a[n] * S(row[leading[i]]);
      by_b[i] += w_b[n] * S(row[leading[i]]);
    }
  }
}

template <class T>
KERNEL_FUNCTION void magnet_coefficients(const float* table, const Scalar<T>* header, const State<T>& s,
                                         MagnetCoefficients<T>& m) {
  T x, y;
  table_place<T>(header, s, x, y);
  const BinPlace<T> bx = bin_place<T>(x, bin::nx);
  const BinPlace<T> by = bin_place<T>(y, bin::ny);
  m.outside = bx.outside | by.outside;
  T w[6];
  bin_weights(bx.distance, by.distance, w);
  mix_bins(table, bx, by, w, m.c);
  if constexpr (bin::by_slopes) {
    using S = Scalar<T>;
    T w_a[6], w_b[6];
    bin_weight_slopes(bx.distance, by.distance, w_a, w_b);
    mix_leading(table, bx, by, w_a, w_b, m.to_tx, m.to_ty);
    S x_tx, y_ty;
    table_place_slopes(header, x_tx, y_ty);
    const T per_tx = bx.side * T(S(0.5) * S(bin::nx) * x_tx), per_ty = by.side * T(S(0.5) * S(bin::ny) * y_ty);
    for (int i = 0; i < leading_count; ++i) {
      m.to_tx[i] = m.to_tx[i] * per_tx;
      m.to_ty[i] = m.to_ty[i] * per_ty;
    }
  }
}

/// Σ cₙ fⁿ, n = 1 … N, continued linearly beyond the clamped f, and its derivative.
template <class T>
struct Polynomial {
  T value, derivative;
};

template <int N, class T>
KERNEL_FUNCTION Polynomial<T> polynomial(const T* c, const T& f, const T& beyond) {
  T sum = c[N - 1], derivative = c[N - 1];
  for (int n = N - 2; n >= 0; --n) {
    sum = sum * f + c[n];
    derivative = derivative * f + sum;
  }
  // sum is now Σ cₙ fⁿ⁻¹ and derivative that of f·sum.
  return {sum * f + derivative * beyond, derivative};
}

/// A component's three polynomials together: its value and its derivatives with respect to u_x, u_y and h.
template <int N0, int N1, class T>
KERNEL_FUNCTION void magnet_component(const T* c0, const T* cx, const T* cy, const Deviations<T>& u, const T& f,
                                      const T& p_min, T& value, T& to_tx, T& to_ty, T& to_h) {
  const T beyond = u.f - f;
  const Polynomial<T> centre = polynomial<N0>(c0, f, beyond);
  const Polynomial<T> x = polynomial<N1>(cx, f, beyond);
  const Polynomial<T> y = polynomial<N1>(cy, f, beyond);
  value = centre.value + u.x * x.value + u.y * y.value;
  to_tx = x.value * u.x_tx;
  to_ty = y.value * u.x_tx;
  to_h = p_min * (centre.derivative + u.x * x.derivative + u.y * y.derivative) + x.value * u.x_h + y.value * u.y_h;
}

/// Carry a state at z_in to z_out: by the table only, and its Jacobian with respect to tx, ty and h. Of what changes
/// with the bins, the leading coefficients are enough.
template <class T>
KERNEL_FUNCTION void magnet_table(const MagnetCoefficients<T>& m, const Scalar<T>* header, const T& h, State<T>& s,
                                  JacobianMagnet<T>& f, Mask<T>& low_momentum) {
  using S = Scalar<T>;
  const Deviations<T> u = deviations<T>(header, h, s);
  const T limit(static_cast<S>(f_max));
  const T clamped = smaller(larger(u.f, -limit), limit);
  low_momentum = magnitude(u.f) > limit;
  const T p_min(header[2]), dz(header[1] - header[0]);
  T x, y, tx, ty;
  magnet_component<bin::x_u0_degree, bin::x_ux_degree>(m.c + bin::x_u0, m.c + bin::x_ux, m.c + bin::x_uy, u, clamped,
                                                       p_min, x, f.x_tx, f.x_ty, f.x_k);
  magnet_component<bin::tx_u0_degree, bin::tx_ux_degree>(m.c + bin::tx_u0, m.c + bin::tx_ux, m.c + bin::tx_uy, u,
                                                         clamped, p_min, tx, f.tx_tx, f.tx_ty, f.tx_k);
  magnet_component<bin::y_u0_degree, bin::y_ux_degree>(m.c + bin::y_u0, m.c + bin::y_ux, m.c + bin::y_uy, u, clamped,
                                                       p_min, y, f.y_tx, f.y_ty, f.y_k);
  magnet_component<bin::ty_u0_degree, bin::ty_ux_degree>(m.c + bin::ty_u0, m.c + bin::ty_ux, m.c + bin::ty_uy, u,
                                                         clamped, p_min, ty, f.ty_tx, f.ty_ty, f.ty_k);
  if constexpr (bin::by_slopes) {
    const T beyond = u.f - clamped, twice = clamped + clamped;
    const auto moved = [&](const T* by) {
      return clamped * (by[0] + clamped * by[1]) + beyond * (by[0] + twice * by[1]);
    };
    f.x_tx += moved(m.to_tx);
    f.x_ty += moved(m.to_ty);
    f.y_tx += moved(m.to_tx + 2);
    f.y_ty += moved(m.to_ty + 2);
    f.tx_tx += moved(m.to_tx + 4);
    f.tx_ty += moved(m.to_ty + 4);
    f.ty_tx += moved(m.to_tx + 6);
    f.ty_ty += moved(m.to_ty + 6);
  }
  s.x += s.tx * dz + x;
  s.y += s.ty * dz + y;
  f.x_tx += dz;
  f.y_ty += dz;
  bend<T>(tx, ty, s, f);
}

/// Carry a state at z_in to z_out with the energy loss and the corrections of UTTF. The bend is evaluated at
/// `reference` and continued linearly to the state's own q/p, which is poorly known before the magnet.
/// At fixed slope the position hardly changes the kick: the Jacobian's x and y columns are those of no field.
template <class T>
KERNEL_FUNCTION void through_magnet(const MagnetCoefficients<T>& m, const Scalar<T>* constant, const T& pol,
                                    const T& reference, State<T>& s, JacobianMagnet<T>& f, Mask<T>& low_momentum) {
  using S = Scalar<T>;
  const S* corrections = constant + layout::UTTF;
  T local, local_k;
  local_qop<T>(corrections, reference, local, local_k);
  magnet_table<T>(m, constant + layout::UTT_META, pol * local, s, f, low_momentum);
  const T k = s.k, to_k = pol * local_k;
  s.k = reference;
  JacobianUTTF<T> g;
  step_UTTF<T>(corrections, pol, s, g);
  f.x_k = f.x_k * to_k + g.x_k;
  f.y_k = f.y_k * to_k + g.y_k;
  f.tx_k = f.tx_k * to_k + g.tx_k;
  f.ty_k = f.ty_k * to_k + g.ty_k;
  const T change = k - reference;
  s.x += f.x_k * change;
  s.y += f.y_k * change;
  s.tx += f.tx_k * change;
  s.ty += f.ty_k * change;
  s.k = k;
}

}  // namespace parkf::kalman::PARKF_FORMS
