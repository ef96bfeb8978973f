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

/// The trilinear field in one cell: for each component, a polynomial in the fractions of the way through the cell. It
/// goes on beyond the faces.
template <class C>
struct CellField {
  C of[8][3];  // coefficients of 1, z, y, yz, x, xz, xy, xyz

  /// Turn differences along z only, at the four corners of the cell across z, into coefficients.
  KERNEL_FUNCTION void expand() {
    for (int c = 0; c < 3; ++c) {
      for (int k = 0; k < 2; ++k) {
        of[6 + k][c] = (of[6 + k][c] - of[4 + k][c]) - (of[2 + k][c] - of[k][c]);
        of[4 + k][c] = of[4 + k][c] - of[k][c];
        of[2 + k][c] = of[2 + k][c] - of[k][c];
      }
    }
  }

  template <class T>
  KERNEL_FUNCTION T at(const T (&f)[3], int c) const {
    return (of[0][c] + f[2] * of[1][c]) + f[1] * (of[2][c] + f[2] * of[3][c]) +
           f[0] * ((of[4][c] + f[2] * of[5][c]) + f[1] * (of[6][c] + f[2] * of[7][c]));
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

/// The field near a point. A trilinear field is that of the point's cell, which goes on beyond the faces.
template <class T>
class FieldNear {
 public:
  KERNEL_FUNCTION FieldNear(const FieldGrid& grid, const T& x, const T& y, const T& z) : grid_(grid) {
    if (grid.cubic) return;
    const double point[3] = {value(x), value(y), value(z)};
    for (int axis = 0; axis < 3; ++axis) {
      const double scaled = (point[axis] - grid.origin[axis]) * (1.0 / grid.spacing[axis]);
      // Beyond the map, the nearest cell.
      first_[axis] = scaled > 0.0 ? static_cast<int>(smaller(scaled, grid.size[axis] - 2.0)) : 0;
    }
    const std::ptrdiff_t y_stride = 3 * static_cast<std::ptrdiff_t>(grid.size[2]);
    for (int corner = 0; corner < 4; ++corner) {
      const float* node = grid.node(first_[0] + corner / 2, first_[1], first_[2]) + corner % 2 * y_stride;
      for (int c = 0; c < 3; ++c) {
        cell_.of[2 * corner][c] = node[c];
        cell_.of[2 * corner + 1][c] = static_cast<double>(node[c + 3] - node[c]);
      }
    }
    cell_.expand();
  }

  /// Find the field in T at a point. Return false outside the map, unless the field counts as zero there.
  KERNEL_FUNCTION bool at(const T& x, const T& y, const T& z, Vector3<T>& field) const {
    CellPosition<T> cell[3];
    if (!find_cell(grid_, 0, x, cell[0]) || !find_cell(grid_, 1, y, cell[1]) || !find_cell(grid_, 2, z, cell[2])) {
      field = {0.0, 0.0, 0.0};
      return grid_.zero_outside && std::isfinite(value(x) + value(y) + value(z));
    }
    if (grid_.cubic) {
      field = tricubic(grid_, cell);
    } else {
      T f[3];
      for (int axis = 0; axis < 3; ++axis)
        f[axis] = cell[axis].fraction + static_cast<double>(cell[axis].index - first_[axis]);
      field = {cell_.at(f, 0), cell_.at(f, 1), cell_.at(f, 2)};
    }
    field.x = field.x * grid_.scale;
    field.y = field.y * grid_.scale;
    field.z = field.z * grid_.scale;
    return true;
  }

 private:
  const FieldGrid& grid_;
  int first_[3];
  CellField<double> cell_;
};

template <class T>
KERNEL_FUNCTION FieldNear<T> field_near(const FieldGrid& grid, const T& x, const T& y, const T& z) {
  return FieldNear<T>(grid, x, y, z);
}

/// Find the field in T at a point. Return false outside the map, unless the field counts as zero there.
template <class T>
KERNEL_FUNCTION bool field_at(const FieldGrid& grid, const T& x, const T& y, const T& z, Vector3<T>& field) {
  return field_near(grid, x, y, z).at(x, y, z, field);
}

}  // namespace parkf::transport
