#pragma once
// Look-up in a field map at the positions of several particles. Each lane repeats the operations of field.hpp in the
// same order, so that the result has the same bits.

#include "transport/field_gradient.hpp"

namespace parkf::transport {

/// Find the field in T at the points of all lanes. The result is true for points inside the map, or if the field
/// outside counts as zero.
template <int N>
KERNEL_FUNCTION typename Lanes<double, N>::Mask field_at(const FieldGrid& grid, const Lanes<double, N>& x,
                                                         const Lanes<double, N>& y, const Lanes<double, N>& z,
                                                         Vector3<Lanes<double, N>>& field) {
  using T = Lanes<double, N>;
  const T point[3] = {x, y, z};
  Cell<T> cell;
  const auto inside = find_cell(grid, point, cell);
  T value[3], by_x[3], by_y[3];
  if (grid.cubic) {
    tricubic(grid, cell, value, by_x, by_y);
  } else {
    trilinear(grid, cell, value, by_x, by_y);
  }
  field = {select(inside, value[0] * T(grid.scale), T(0.0)), select(inside, value[1] * T(grid.scale), T(0.0)),
           select(inside, value[2] * T(grid.scale), T(0.0))};
  return grid.zero_outside ? finite(T(x + y + z)) : inside;
}

}  // namespace parkf::transport
