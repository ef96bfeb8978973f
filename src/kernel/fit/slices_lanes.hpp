#pragma once
// The maps of the slices read for several tracks together.

#include "fit/slices.hpp"
#include "numbers/lanes.hpp"

namespace parkf::slices {

/// A node, or the node twice where M is two rows.
template <class S, int M>
KERNEL_FUNCTION Lanes<S, M> read_node(const float* node) {
  if constexpr (M == row) {
    return from_floats<S, row>(node);
  } else {
    return from_floats_twice<S, row>(node);
  }
}

/// Interpolate the maps of a slice for each track. A track reads nine nodes, each of them as one vector. Values and
/// derivatives with respect to y are sums of the same nodes with other weights: two vectors, or the halves of one.
template <class S, int N>
KERNEL_FUNCTION Fields<Lanes<S, N>> look_up(const float* numbers, const Axis<Lanes<S, N>>& x,
                                            const Axis<Lanes<S, N>>& y) {
  constexpr int parts = N < 2 * row ? 2 : 1, slopes = row / 2;
  static_assert(sloped <= slopes, "there is room for the derivatives");
  using Part = Lanes<S, 2 * row / parts>;
  using Slopes = Lanes<S, slopes>;
  const auto place = to_integer(x.first * Lanes<S, N>(S(nodes_y * row)) + y.first * Lanes<S, N>(S(row)));
  typename Part::Mask first_row;
  for (int i = 0; i < 2 * row / parts; ++i) first_row.bits[i] = i < row ? -1 : 0;
  S rows[N * 2 * row];  // of each track: the maps, and derivatives of the first ones with respect to y and to x
  KERNEL_ROLLED for (int lane = 0; lane < N; ++lane) {
    const float* node = numbers + place.bits[lane];
    Part weights[3][parts], sum[parts];
    for (int b = 0; b < 3; ++b) {
      weights[b][parts - 1] = Part(lane_of(y.slope[b], lane));
      weights[b][0] = select(first_row, Part(lane_of(y.w[b], lane)), weights[b][parts - 1]);
    }
    for (Part& part : sum) part = Part(S(0));
    Slopes by_x(S(0));
    for (int a = 0; a < 3; ++a, node += nodes_y * row) {
      Part along[parts];
      for (Part& part : along) part = Part(S(0));
      for (int b = 0; b < 3; ++b) {
        const Part read = read_node<S, 2 * row / parts>(node + b * row);
        for (int part = 0; part < parts; ++part) along[part] += weights[b][part] * read;
      }
      for (int part = 0; part < parts; ++part) sum[part] += Part(lane_of(x.w[a], lane)) * along[part];
      by_x += Slopes(lane_of(x.slope[a], lane)) * first_lanes<slopes>(along[0]);
    }
    S* const to = rows + lane * 2 * row;
    __builtin_memcpy(to, sum, sizeof(sum));
    __builtin_memcpy(to + row + slopes, &by_x, sizeof(by_x));
  }
  Lanes<S, N> turned[2 * row];
  turn<Lanes<S, N>, 2 * row>(rows, 2 * row, reinterpret_cast<S*>(turned));
  Fields<Lanes<S, N>> fields;
  keep(fields, turned, turned + row + slopes, turned + row);
  return fields;
}

}  // namespace parkf::slices
