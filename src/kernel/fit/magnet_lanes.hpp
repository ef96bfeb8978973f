#pragma once
// The magnet table read for several tracks together.

#include "fit/magnet.hpp"
#include "numbers/lanes.hpp"

namespace parkf::kalman::PARKF_FORMS {

/// Where in the table the nearest bins begin, and the distances from them to their neighbours.
template <class S, int N>
struct BinSteps {
  typename Lanes<S, N>::Bits nearest, step_x, step_y;

  KERNEL_FUNCTION BinSteps(const BinPlace<Lanes<S, N>>& x, const BinPlace<Lanes<S, N>>& y)
      : nearest((x.nearest.bits * bin::ny + y.nearest.bits) * bin::count),
        step_x(x.direction.bits * (bin::ny * bin::count)),
        step_y(y.direction.bits * bin::count) {}
};

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

/// The same for all tracks. For each of them, `also` is called with its lane, and while its bins are in the caches.
template <class S, int N, class Also>
KERNEL_FUNCTION void mix_bins(const float* table, const BinPlace<Lanes<S, N>>& x, const BinPlace<Lanes<S, N>>& y,
                              const Lanes<S, N>* w, Lanes<S, N>* c, const Also& also) {
  static_assert(bin::count % N == 0, "a bin is read in whole vectors");
  constexpr std::make_integer_sequence<int, 6> bins{};
  // Gathering 80 coefficients at 16 addresses would take 480 slow gathers. Reading whole bins takes 480 fast loads.
  const BinSteps<S, N> steps(x, y);
  for (int lane = 0; lane < N; ++lane) {
    const float* nearest = table + steps.nearest[lane];
    const long step_x = steps.step_x[lane], step_y = steps.step_y[lane];
    const S weights[6] = {w[0].v[lane], w[1].v[lane], w[2].v[lane], w[3].v[lane], w[4].v[lane], w[5].v[lane]};
    mix_bins(nearest, step_x, step_y, weights, c + lane, bins);
    also(lane, nearest, step_x, step_y);
  }
  for (int b = 0; b < bin::count; b += N) transpose(c + b);
}

template <class S, int N>
KERNEL_FUNCTION void mix_bins(const float* table, const BinPlace<Lanes<S, N>>& x, const BinPlace<Lanes<S, N>>& y,
                              const Lanes<S, N>* w, Lanes<S, N>* c) {
  mix_bins(table, x, y, w, c, [](int, const float*, long, long) {});
}

/// The leading coefficients of a bin: four pairs of neighbours.
template <class S>
KERNEL_FUNCTION typename Lanes<S, leading_count>::Vector leading_of(const float* row) {
  typedef float Pair __attribute__((vector_size(2 * sizeof(float))));
  const auto pair = [row](int first) {
    Pair numbers;
    __builtin_memcpy(&numbers, row + first, sizeof(numbers));
    return numbers;
  };
  constexpr std::make_integer_sequence<int, 4> four{};
  const auto xy = joined(pair(bin::x::u0), pair(bin::y::u0), four), slopes = joined(pair(bin::tx::u0), pair(bin::ty::u0), four);
  return __builtin_convertvector(joined(xy, slopes, std::make_integer_sequence<int, leading_count>{}),
                                 typename Lanes<S, leading_count>::Vector);
}

template <class S, int N>
KERNEL_FUNCTION void mix_with_leading(const float* table, const BinPlace<Lanes<S, N>>& x,
                                      const BinPlace<Lanes<S, N>>& y, const Lanes<S, N>* w, const Lanes<S, N>* w_a,
                                      const Lanes<S, N>* w_b, OwnCoefficients<Lanes<S, N>>& c, Lanes<S, N>* by_a,
                                      Lanes<S, N>* by_b) {
  using Leading = typename Lanes<S, leading_count>::Vector;
  constexpr int both = 2 * leading_count;
  typename Lanes<S, both>::Vector sums[N];
  mix_bins(table, x, y, w, c.c, [&](int lane, const float* nearest, long step_x, long step_y) {
    Leading a{}, b{};
    for (int n = 0; n < 6; ++n) {
      const auto row = leading_of<S>(nearest + neighbour_x(n) * step_x + neighbour_y(n) * step_y);
      a += w_a[n].v[lane] * row;
      b += w_b[n].v[lane] * row;
    }
    // Written in one piece, because it is read in pieces that may be as large.
    sums[lane] = joined(a, b, std::make_integer_sequence<int, both>{});
  });
  Lanes<S, N> turned[both];
  for (int first = 0; first < both; first += N) {
    for (int lane = 0; lane < N; ++lane) {
      __builtin_memcpy(&turned[first + lane], reinterpret_cast<const S*>(&sums[lane]) + first, sizeof(turned[0]));
    }
    transpose(turned + first);
  }
  for (int i = 0; i < leading_count; ++i) {
    by_a[i] = turned[i];
    by_b[i] = turned[leading_count + i];
  }
}

}  // namespace parkf::kalman::PARKF_FORMS
