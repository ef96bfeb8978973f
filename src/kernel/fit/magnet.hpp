#pragma once
// The step through the magnet by table: coefficients interpolated from six bins, and polynomials in f = h·p_min.

#include "steps_generated.hpp"

namespace parkf::kalman::PARKF_FORMS {

/// Below the trained momenta, |f| > f_max, the polynomials go on as straight lines.
constexpr double f_max = 1.05;

/// Number of leading coefficients: two each for x, y, tx and ty. The bend is even in the position across the magnet, so
/// its change with the position begins with f².
constexpr int leading_count = 8;

/// Nearest bin among those with neighbours, direction of these neighbours, and distance from the bin's centre in bins.
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
  // With this order of the two limits even NaN becomes a bin of the grid. Otherwise it could become a wrong address.
  const T nearest = smaller(larger(round_down(at), T(1)), T(S(bins - 2)));
  const T offset = at - nearest - T(S(0.5));
  const Mask<T> left = offset < T(0);
  return {to_integer(nearest), select(left, Integer<T>(-1), Integer<T>(1)), smaller(magnitude(offset), T(S(1.5))),
          select(left, T(-1), T(1)), magnitude(place) > T(1)};
}

/// The rows of the six bins of one track.
template <class S>
KERNEL_FUNCTION void bin_rows(const float* table, const BinPlace<S>& x, const BinPlace<S>& y, const float* (&rows)[6]) {
  for (int n = 0; n < 6; ++n) {
    const int ix = x.nearest + x.direction * neighbour_x(n);
    const int iy = y.nearest + y.direction * neighbour_y(n);
    rows[n] = table + (ix * bin::ny + iy) * bin::count;
  }
}

/// How many coefficients are read in one piece.
constexpr int bin_piece = 4;
static_assert(bin::count % bin_piece == 0, "a bin is read in whole pieces");

/// Sum of the weighted coefficients of six bins, of one piece from number `first` on.
template <class S>
KERNEL_FUNCTION void mix_piece(const float* const (&rows)[6], const S* w, int first, S* sum) {
  for (int n = 0; n < 6; ++n) {
    float row[bin_piece];
    load_together<bin_piece>(rows[n] + first, row);
    for (int j = 0; j < bin_piece; ++j) sum[j] = n == 0 ? w[0] * S(row[j]) : sum[j] + w[n] * S(row[j]);
  }
}

/// The sums of all pieces.
template <class S>
KERNEL_FUNCTION void mix_bins(const float* table, const BinPlace<S>& x, const BinPlace<S>& y, const S* w, S* c) {
  const float* rows[6];
  bin_rows(table, x, y, rows);
  KERNEL_UNROLLED for (int i = 0; i < bin::count; i += bin_piece) mix_piece(rows, w, i, c + i);
}

/// The same sums of the leading coefficients only, with two sets of weights.
template <class S>
KERNEL_FUNCTION void mix_leading(const float* table, const BinPlace<S>& x, const BinPlace<S>& y, const S* w_a,
                                 const S* w_b, S* by_a, S* by_b) {
  constexpr int pairs[leading_count / 2] = {bin::x::u0, bin::y::u0, bin::tx::u0, bin::ty::u0};
  static_assert(!bin::by_slopes || (pairs[0] | pairs[1] | pairs[2] | pairs[3]) % 2 == 0, "pairs are read in one piece");
  for (int i = 0; i < leading_count; ++i) by_a[i] = by_b[i] = S(0);
  KERNEL_UNROLLED for (int n = 0; n < 6; ++n) {
    const int ix = x.nearest + x.direction * neighbour_x(n);
    const int iy = y.nearest + y.direction * neighbour_y(n);
    const float* row = table + (ix * bin::ny + iy) * bin::count;
    KERNEL_UNROLLED for (int i = 0; i < leading_count; i += 2) {
      float pair[2];
      load_together<2>(row + pairs[i / 2], pair);
      for (int j = 0; j < 2; ++j) {
        by_a[i + j] += w_a[n] * S(pair[j]);
        by_b[i + j] += w_b[n] * S(pair[j]);
      }
    }
  }
}

/// Where the 80 coefficients are kept: with the track, in registers or the first-level cache.
template <class T>
struct OwnCoefficients {
  T c[bin::count];

  KERNEL_FUNCTION const T& operator[](int i) const { return c[i]; }
  KERNEL_FUNCTION void mix(const float* table, const BinPlace<T>& x, const BinPlace<T>& y, const T* w) {
    mix_bins(table, x, y, w, c);
  }
};

/// The coefficients for a place at z_in, and whether it lies beyond the grid.
template <class T, class Kept = OwnCoefficients<T>>
struct MagnetCoefficients {
  Kept c;
  Mask<T> outside;
  // Changes of the leading coefficients (those of f and f² without u) with the slopes, if slopes choose the bins.
  T to_tx[leading_count], to_ty[leading_count];
};

/// Mix all coefficients with the weights w, and the leading ones with w_a and w_b, too.
template <class T, class Kept>
KERNEL_FUNCTION void mix_with_leading(const float* table, const BinPlace<T>& x, const BinPlace<T>& y, const T* w,
                                      const T* w_a, const T* w_b, Kept& c, T* by_a, T* by_b) {
  c.mix(table, x, y, w);
  mix_leading(table, x, y, w_a, w_b, by_a, by_b);
}

template <class T, class Kept>
KERNEL_FUNCTION void magnet_coefficients(const float* table, const Scalar<T>* header, const State<T>& s,
                                         MagnetCoefficients<T, Kept>& m) {
  T x, y;
  table_place<T>(header, s, x, y);
  const BinPlace<T> bx = bin_place<T>(x, bin::nx);
  const BinPlace<T> by = bin_place<T>(y, bin::ny);
  m.outside = bx.outside | by.outside;
  T w[6];
  bin_weights(bx.distance, by.distance, w);
  if constexpr (bin::by_slopes) {
    using S = Scalar<T>;
    T w_a[6], w_b[6];
    bin_weight_slopes(bx.distance, by.distance, w_a, w_b);
    mix_with_leading(table, bx, by, w, w_a, w_b, m.c, m.to_tx, m.to_ty);
    S x_tx, y_ty;
    table_place_slopes(header, x_tx, y_ty);
    const T per_tx = bx.side * T(S(0.5) * S(bin::nx) * x_tx), per_ty = by.side * T(S(0.5) * S(bin::ny) * y_ty);
    for (int i = 0; i < leading_count; ++i) {
      m.to_tx[i] = m.to_tx[i] * per_tx;
      m.to_ty[i] = m.to_ty[i] * per_ty;
    }
  } else {
    m.c.mix(table, bx, by, w);
  }
}

/// The value of Σ cₙ fⁿ, n = 1 … N, continued linearly beyond the clamped f, and its derivative.
template <class T>
struct Polynomial {
  T value, derivative;
};

template <int first, int N, class T, class Kept>
KERNEL_FUNCTION Polynomial<T> polynomial(const Kept& c, const T& f, const T& beyond) {
  T sum = c[first + N - 1], derivative = sum;
  for (int n = N - 2; n >= 0; --n) {
    sum = sum * f + c[first + n];
    derivative = derivative * f + sum;
  }
  // sum is now Σ cₙ fⁿ⁻¹ and derivative that of f·sum.
  return {sum * f + derivative * beyond, derivative};
}

/// The gain of a component: its central polynomial, and the polynomials that multiply u_x and u_y.
template <class T>
struct Component {
  Polynomial<T> centre, x, y;

  KERNEL_FUNCTION T gain(const Deviations<T>& u) const { return centre.value + u.x * x.value + u.y * y.value; }
  KERNEL_FUNCTION T by_h(const Deviations<T>& u, const T& p_min) const {
    return p_min * (centre.derivative + u.x * x.derivative + u.y * y.derivative) + x.value * u.x_h + y.value * u.y_h;
  }
  KERNEL_FUNCTION void derive(const Deviations<T>& u, const T& p_min, T& by_tx, T& by_ty, T& to_h) const {
    by_tx = x.value * u.x_tx;
    by_ty = y.value * u.x_tx;
    to_h = by_h(u, p_min);
  }
};

template <class T>
KERNEL_FUNCTION T clamp(const T& f) {
  const T limit(static_cast<Scalar<T>>(f_max));
  return smaller(larger(f, -limit), limit);
}

/// The component that lies at `Place` in a bin. Beyond the momenta of the table, f is `clamped` and the polynomials
/// continue linearly.
template <class Place, class T, class Kept>
KERNEL_FUNCTION Component<T> component(const Kept& c, const T& clamped, const T& beyond) {
  return {polynomial<Place::u0, Place::u0_degree>(c, clamped, beyond),
          polynomial<Place::ux, Place::ux_degree>(c, clamped, beyond),
          polynomial<Place::uy, Place::uy_degree>(c, clamped, beyond)};
}

/// x and tx at z_out and their derivatives with respect to q/p.
template <class T>
struct BentX {
  T x, tx, x_k, tx_k;
};

/// The result of the table alone, as if nothing bent y.
template <class T, class Kept>
KERNEL_FUNCTION BentX<T> bent_x(const MagnetCoefficients<T, Kept>& m, const Scalar<T>* constant, const T& pol,
                                const State<T>& s) {
  const Scalar<T>* header = constant + layout::UTT_META;
  T local, local_k;
  local_qop<T>(constant + layout::UTTF, s.k, local, local_k);
  const Deviations<T> u = deviations<T>(header, pol * local, s);
  const T clamped = clamp(u.f), beyond = u.f - clamped, p_min(header[2]), to_k = pol * local_k;
  BentX<T> bent;
  const Component<T> x = component<bin::x>(m.c, clamped, beyond);
  bent.x = s.x + s.tx * T(header[1] - header[0]) + x.gain(u);
  bent.x_k = x.by_h(u, p_min) * to_k;
  read_later();
  const Component<T> tx = component<bin::tx>(m.c, clamped, beyond);
  bend_x<T>(tx.gain(u), tx.by_h(u, p_min) * to_k, s, bent.tx, bent.tx_k);
  return bent;
}

/// Carry a state at z_in to z_out by the table only, with the Jacobian with respect to tx, ty and h. For the change of
/// the bins with the slopes, the leading coefficients are enough.
template <class T, class Kept>
KERNEL_FUNCTION void magnet_table(const MagnetCoefficients<T, Kept>& m, const Scalar<T>* header, const T& h, State<T>& s,
                                  JacobianMagnet<T>& f, Mask<T>& low_momentum) {
  const Deviations<T> u = deviations<T>(header, h, s);
  const T clamped = clamp(u.f), beyond = u.f - clamped;
  low_momentum = magnitude(u.f) > magnitude(clamped);
  const T p_min(header[2]), dz(header[1] - header[0]);
  // The gain of one component, and its derivatives; `leading` counts the leading coefficients of those before it.
  const auto gain = [&](auto place, int leading, T& by_tx, T& by_ty, T& by_k) {
    const Component<T> one = component<decltype(place)>(m.c, clamped, beyond);
    one.derive(u, p_min, by_tx, by_ty, by_k);
    if constexpr (bin::by_slopes) {
      const auto moved = [&](const T* by) {
        return clamped * (by[0] + clamped * by[1]) + beyond * (by[0] + (clamped + clamped) * by[1]);
      };
      by_tx += moved(m.to_tx + leading);
      by_ty += moved(m.to_ty + leading);
    }
    read_later();
    return one.gain(u);
  };
  s.x += s.tx * dz + gain(bin::x{}, 0, f.x_tx, f.x_ty, f.x_k);
  s.y += s.ty * dz + gain(bin::y{}, 2, f.y_tx, f.y_ty, f.y_k);
  const T tx = gain(bin::tx{}, 4, f.tx_tx, f.tx_ty, f.tx_k), ty = gain(bin::ty{}, 6, f.ty_tx, f.ty_ty, f.ty_k);
  f.x_tx += dz;
  f.y_ty += dz;
  bend<T>(tx, ty, s, f);
}

/// Carry a state at z_in to z_out with the energy loss and the corrections of UTTF. At fixed slope the position hardly
/// changes the kick, so the Jacobian's columns of x and y are the same as without a field.
template <class T, class Kept>
KERNEL_FUNCTION void through_magnet(const MagnetCoefficients<T, Kept>& m, const Scalar<T>* constant, const T& pol,
                                    State<T>& s, JacobianMagnet<T>& f, Mask<T>& low_momentum) {
  const Scalar<T>* corrections = constant + layout::UTTF;
  T local, local_k;
  local_qop<T>(corrections, s.k, local, local_k);
  magnet_table<T>(m, constant + layout::UTT_META, pol * local, s, f, low_momentum);
  const T to_k = pol * local_k;
  JacobianUTTF<T> g;
  step_UTTF<T>(corrections, pol, s, g);
  f.x_k = f.x_k * to_k + g.x_k;
  f.y_k = f.y_k * to_k + g.y_k;
  f.tx_k = f.tx_k * to_k + g.tx_k;
  f.ty_k = f.ty_k * to_k + g.ty_k;
}

}  // namespace parkf::kalman::PARKF_FORMS
