#pragma once
// Look-up in a field map on a uniform grid: trilinear, or cubic B-spline.

#include <cmath>
#include <cstddef>

#include "numbers/dual.hpp"

namespace parkf::transport {

template <class T>
struct Vector3 {
  T x, y, z;
};

/// A view of a map. The nodes are an array (nx, ny, nz, 3), in which the component runs fastest, then z.
struct FieldGrid {
  const float* nodes = nullptr;  // T; B-spline coefficients when `cubic`
  double origin[3] = {};         // mm
  double spacing[3] = {};        // mm
  int size[3] = {};
  double scale = 1.0;  // polarity, for one
  bool cubic = false;
  bool zero_outside = false;

  KERNEL_FUNCTION const float* node(int ix, int iy, int iz) const {
    return nodes + 3 * ((static_cast<std::ptrdiff_t>(ix) * size[1] + iy) * size[2] + iz);
  }
};

/// The position of a coordinate: its cell, and the fraction of the way through the cell.
template <class T>
struct CellPosition {
  int index;
  T fraction;
};

/// Find the cell of a coordinate along one axis. Return false outside the map, or if the coordinate is not a number.
template <class T>
KERNEL_FUNCTION bool find_cell(const FieldGrid& grid, int axis, const T& coordinate, CellPosition<T>& cell) {
  const T scaled = (coordinate - grid.origin[axis]) * (1.0 / grid.spacing[axis]);
  const double last = grid.size[axis] - 1;
  if (!(value(scaled) >= 0.0 && value(scaled) <= last)) return false;
  // The upper edge belongs to the last cell.
  cell.index = smaller(static_cast<int>(value(scaled)), grid.size[axis] - 2);
  cell.fraction = scaled - static_cast<double>(cell.index);
  return true;
}

template <class T>
KERNEL_FUNCTION Vector3<T> trilinear(const FieldGrid& grid, const CellPosition<T> (&cell)[3]) {
  const T& fx = cell[0].fraction;
  const T& fy = cell[1].fraction;
  const T& fz = cell[2].fraction;
  const float* n00 = grid.node(cell[0].index, cell[1].index, cell[2].index);
  const std::ptrdiff_t y_stride = 3 * static_cast<std::ptrdiff_t>(grid.size[2]);
  const float* n01 = n00 + y_stride;
  const float* n10 = n00 + y_stride * grid.size[1];
  const float* n11 = n10 + y_stride;
  T result[3];
  for (int c = 0; c < 3; ++c) {
    const T b00 = n00[c] + fz * static_cast<double>(n00[c + 3] - n00[c]);
    const T b01 = n01[c] + fz * static_cast<double>(n01[c + 3] - n01[c]);
    const T b10 = n10[c] + fz * static_cast<double>(n10[c + 3] - n10[c]);
    const T b11 = n11[c] + fz * static_cast<double>(n11[c + 3] - n11[c]);
    const T b0 = b00 + fy * (b01 - b00);
    const T b1 = b10 + fy * (b11 - b10);
    result[c] = b0 + fx * (b1 - b0);
  }
  return {result[0], result[1], result[2]};
}

/// The four cubic B-spline weights of a fraction.
template <class T>
KERNEL_FUNCTION void spline_weights(const T& t, T (&weight)[4]) {
  const T s = 1.0 - t;
  weight[0] = s * s * s * (1.0 / 6.0);
  weight[3] = t * t * t * (1.0 / 6.0);
  weight[1] = 2.0 / 3.0 - t * t * (1.0 - 0.5 * t);
  weight[2] = 1.0 - weight[0] - weight[1] - weight[3];
}

template <class T>
KERNEL_FUNCTION Vector3<T> tricubic(const FieldGrid& grid, const CellPosition<T> (&cell)[3]) {
  T wx[4], wy[4], wz[4];
  spline_weights(cell[0].fraction, wx);
  spline_weights(cell[1].fraction, wy);
  spline_weights(cell[2].fraction, wz);
  // Mirror indices beyond the edges, as scipy.ndimage did for the coefficients (mode "mirror").
  const auto mirrored = [](int index, int size) {
    return index < 0 ? -index : index >= size ? 2 * (size - 1) - index : index;
  };
  int iz[4];
  for (int k = 0; k < 4; ++k) iz[k] = 3 * mirrored(cell[2].index - 1 + k, grid.size[2]);
  T result[3] = {};
  for (int i = 0; i < 4; ++i) {
    const int ix = mirrored(cell[0].index - 1 + i, grid.size[0]);
    T plane[3] = {};
    for (int j = 0; j < 4; ++j) {
      const float* column = grid.node(ix, mirrored(cell[1].index - 1 + j, grid.size[1]), 0);
      for (int c = 0; c < 3; ++c) {
        const T sum = wz[0] * static_cast<double>(column[iz[0] + c]) + wz[1] * static_cast<double>(column[iz[1] + c]) +
                      wz[2] * static_cast<double>(column[iz[2] + c]) + wz[3] * static_cast<double>(column[iz[3] + c]);
        plane[c] = plane[c] + wy[j] * sum;
      }
    }
    for (int c = 0; c < 3; ++c) result[c] = result[c] + wx[i] * plane[c];
  }
  return {result[0], result[1], result[2]};
}

/// Find the field in T at a point. Return false outside the map, unless the field counts as zero there.
template <class T>
KERNEL_FUNCTION bool field_at(const FieldGrid& grid, const T& x, const T& y, const T& z, Vector3<T>& field) {
  CellPosition<T> cell[3];
  if (!find_cell(grid, 0, x, cell[0]) || !find_cell(grid, 1, y, cell[1]) || !find_cell(grid, 2, z, cell[2])) {
    field = {0.0, 0.0, 0.0};
    return grid.zero_outside && std::isfinite(value(x) + value(y) + value(z));
  }
  field = grid.cubic ? tricubic(grid, cell) : trilinear(grid, cell);
  field.x = field.x * grid.scale;
  field.y = field.y * grid.scale;
  field.z = field.z * grid.scale;
  return true;
}

}  // namespace parkf::transport
