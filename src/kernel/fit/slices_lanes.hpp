#pragma once
// The maps of the slices read for several tracks together.

#include "fit/slices.hpp"
#include "numbers/lanes.hpp"

namespace parkf::slices {

/// Interpolate the maps of a slice for each track. A track reads nine nodes, each of them as one vector.
template <class S, int N>
KERNEL_FUNCTION Fields<Lanes<S, N>> look_up(const float* numbers, const Axis<Lanes<S, N>>& x,
                                            const Axis<Lanes<S, N>>& y) {
  using Row = Lanes<S, row>;
  Lanes<S, N> maps[row], by_x[row], by_y[row];
  for (int lane = 0; lane < N; ++lane) {
    const int ix = to_integer(lane_of(x.first, lane)), iy = to_integer(lane_of(y.first, lane));
    const float* node = numbers + (ix * nodes_y + iy) * row;
    Row sum(S(0)), slope_x(S(0)), slope_y(S(0));
    for (int a = 0; a < 3; ++a, node += nodes_y * row) {
      Row along(S(0)), along_y(S(0));
      for (int b = 0; b < 3; ++b) {
        const Row read = from_floats<S, row>(node + b * row);
        along += Row(lane_of(y.w[b], lane)) * read;
        along_y += Row(lane_of(y.slope[b], lane)) * read;
      }
      sum += Row(lane_of(x.w[a], lane)) * along;
      slope_x += Row(lane_of(x.slope[a], lane)) * along;
      slope_y += Row(lane_of(x.w[a], lane)) * along_y;
    }
    for (int m = 0; m < row; ++m) {
      put(maps[m], lane, lane_of(sum, m));
      put(by_x[m], lane, lane_of(slope_x, m));
      put(by_y[m], lane, lane_of(slope_y, m));
    }
  }
  Fields<Lanes<S, N>> fields;
  keep(fields, maps, by_x, by_y);
  return fields;
}

}  // namespace parkf::slices
