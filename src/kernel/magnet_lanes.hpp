#pragma once
// The magnet table read for several tracks together.

#include "lanes.hpp"
#include "magnet.hpp"

namespace parkf::kalman::PARKF_FORMS {

/// Coefficients weighted with w and summed over the six bins of one track, N at a time.
template <class S, int N, int... n>
KERNEL_FUNCTION void mix_bins(const float* nearest, long step_x, long step_y, const S (&w)[6], Lanes<S, N>* c,
                              std::integer_sequence<int, n...>) {
  const float* const rows[] = {nearest + neighbour_x(n) * step_x + neighbour_y(n) * step_y...};
  const Lanes<S, N> weights[] = {Lanes<S, N>(w[n])...};
  for (int b = 0; b < bin::count / N; ++b) {
    Lanes<S, N> sum = weights[0] * from_floats<S, N>(rows[0] + b * N);
    ((sum = n == 0 ? sum : sum + weights[n] * from_floats<S, N>(rows[n] + b * N)), ...);
    c[b * N] = sum;
  }
}

template <class S, int N>
KERNEL_FUNCTION void mix_bins(const float* table, const BinPlace<Lanes<S, N>>& x, const BinPlace<Lanes<S, N>>& y,
                              const Lanes<S, N>* w, Lanes<S, N>* c) {
  static_assert(bin::count % N == 0, "a bin is read in whole vectors");
  constexpr std::make_integer_sequence<int, 6> bins{};
  // Gathering 80 coefficients from 16 places would be 480 slow gathers; whole bins in a row are 480 fast loads.
  for (int lane = 0; lane < N; ++lane) {
    const long nearest = (x.nearest.bits[lane] * bin::ny + y.nearest.bits[lane]) * bin::count;
    const S weights[6] = {w[0].v[lane], w[1].v[lane], w[2].v[lane], w[3].v[lane], w[4].v[lane], w[5].v[lane]};
    mix_bins(table + nearest, x.direction.bits[lane] * (bin::ny * bin::count), y.direction.bits[lane] * bin::count,
             weights, c + lane, bins);
  }
  for (int b = 0; b < bin::count; b += N) transpose(c + b);
}

template <class S, int N>
KERNEL_FUNCTION void mix_leading(const float* table, const BinPlace<Lanes<S, N>>& x, const BinPlace<Lanes<S, N>>& y,
                                 const Lanes<S, N>* w_a, const Lanes<S, N>* w_b, Lanes<S, N>* by_a,
                                 Lanes<S, N>* by_b) {
  for (int lane = 0; lane < N; ++lane) {
    const auto one = [lane](const BinPlace<Lanes<S, N>>& place) {
      return BinPlace<S>{static_cast<Integer<S>>(place.nearest.bits[lane]),
                         static_cast<Integer<S>>(place.direction.bits[lane]), S(0), S(0), false};
    };
    S a[6], b[6], to_a[leading_count], to_b[leading_count];
    for (int n = 0; n < 6; ++n) {
      a[n] = w_a[n].v[lane];
      b[n] = w_b[n].v[lane];
    }
    mix_leading(table, one(x), one(y), a, b, to_a, to_b);
    for (int i = 0; i < leading_count; ++i) {
      by_a[i].v[lane] = to_a[i];
      by_b[i].v[lane] = to_b[i];
    }
  }
}

}  // namespace parkf::kalman::PARKF_FORMS
