#pragma once
// The field and its derivatives across the beam, at one point or at the points of several particles in lanes.

#include "numbers/lanes.hpp"
#include "transport/field.hpp"

namespace parkf::transport {

/// The field in T, and its derivatives in T/mm.
template <class T>
struct FieldAcross {
  Vector3<T> value, by_x, by_y;
};

/// Positions in the array of nodes, one for each lane.
template <class T>
struct Places {
  static constexpr int lanes = Number<T>::lanes;
  std::ptrdiff_t at[lanes];
};

/// Load four consecutive floats from each lane's source. Float number i of every lane goes to `result[i]`.
template <int lanes, class Source>
KERNEL_FUNCTION void load_four(const Source& source, typename Lanes<float, lanes>::Vector (&result)[4]) {
  typedef float Four __attribute__((vector_size(4 * sizeof(float))));
  Four rows[lanes];
  for (int i = 0; i < lanes; ++i) __builtin_memcpy(&rows[i], source(i), sizeof(Four));
  if constexpr (lanes == 4 || lanes == 8) {
    for (int i = 0; i < 4; ++i) {
      if constexpr (lanes == 4) {
        result[i] = rows[i];
      } else {
        result[i] = joined(rows[i], rows[i + 4], std::make_integer_sequence<int, 8>{});
      }
    }
    transpose_rows<1, 4>(result);
  } else {
    for (int k = 0; k < 4; ++k) {
      for (int i = 0; i < lanes; ++i) result[k][i] = rows[i][k];
    }
  }
}

/// The components at a node, and their differences to the next node along z. Floats are accurate enough for
/// differences.
template <class T>
KERNEL_FUNCTION void load_pair(const float* nodes, const Places<T>& places, std::ptrdiff_t offset, T (&here)[3],
                               T (&difference)[3]) {
  constexpr int lanes = Number<T>::lanes;
  if constexpr (lanes == 1) {
    const float* node = nodes + places.at[0] + offset;
    for (int c = 0; c < 3; ++c) {
      here[c] = node[c];
      difference[c] = static_cast<double>(node[c + 3] - node[c]);
    }
  } else {
    // Load two rows that overlap, so that nothing beyond the last node is read.
    typename Lanes<float, lanes>::Vector low[4], high[4];
    load_four<lanes>([&](int i) { return nodes + places.at[i] + offset; }, low);
    load_four<lanes>([&](int i) { return nodes + places.at[i] + offset + 2; }, high);
    const auto& third = low[3];
    for (int c = 0; c < 3; ++c) {
      const auto next = c == 0 ? third : high[c + 1];
      here[c] = T(__builtin_convertvector(low[c], typename T::Vector));
      difference[c] = T(__builtin_convertvector(next - low[c], typename T::Vector));
    }
  }
}

/// The position of points: the lower node of the cell, and the fraction of the way through the cell, along each axis.
template <class T>
struct Cell {
  T node[3], fraction[3];
};

/// Find the cells of points. The result is false outside the map, or if a coordinate is not a number; the cell is then
/// arbitrary.
template <class T>
KERNEL_FUNCTION Mask<T> find_cell(const FieldGrid& grid, const T (&point)[3], Cell<T>& cell) {
  Mask<T> inside = point[0] == point[0];
  for (int axis = 0; axis < 3; ++axis) {
    const T scaled = (point[axis] - grid.origin[axis]) * (1.0 / grid.spacing[axis]);
    const Mask<T> here = at_most(T(0.0), scaled) & at_most(scaled, T(grid.size[axis] - 1.0));
    const T within = select(here, scaled, T(0.0));
    // The upper edge belongs to the last cell.
    cell.node[axis] = smaller(round_down(within), T(grid.size[axis] - 2.0));
    cell.fraction[axis] = within - cell.node[axis];
    inside = inside & here;
  }
  return inside;
}

template <class T>
KERNEL_FUNCTION Places<T> whole_numbers(const T& numbers) {
  Places<T> result;
  const auto whole = to_integer(numbers);
  if constexpr (Number<T>::lanes == 1) {
    result.at[0] = whole;
  } else {
    for (int i = 0; i < Number<T>::lanes; ++i) result.at[i] = whole.bits[i];
  }
  return result;
}

/// Derivatives of the four cubic B-spline weights.
template <class T>
KERNEL_FUNCTION void spline_slopes(const T& t, T (&slope)[4]) {
  const T s = 1.0 - t;
  slope[0] = -0.5 * s * s;
  slope[3] = 0.5 * t * t;
  slope[1] = t * (1.5 * t - 2.0);
  slope[2] = -slope[0] - slope[1] - slope[3];
}

/// The nodes of a column along z, from one node below a cell to two above it. The column is i and j nodes from the one
/// before the cell.
template <class T>
struct Columns {
  const FieldGrid& grid;
  const Places<T> x, y, z;
  const bool inside;  // none of the nodes lies beyond the map

  KERNEL_FUNCTION Columns(const FieldGrid& grid, const Cell<T>& cell)
      : grid(grid),
        x(whole_numbers(cell.node[0])),
        y(whole_numbers(cell.node[1])),
        z(whole_numbers(cell.node[2])),
        inside(Number<T>::lanes > 1 && !at_edge(cell)) {}

  /// Load a column: number 3 k + c is component c of node k.
  KERNEL_FUNCTION void load(int i, int j, T (&numbers)[12]) const {
    constexpr int lanes = Number<T>::lanes;
    if constexpr (lanes > 1) {
      if (inside) {
        for (int piece = 0; piece < 3; ++piece) {
          typename Lanes<float, lanes>::Vector four[4];
          load_four<lanes>(
              [&](int lane) {
                return grid.node(static_cast<int>(x.at[lane]) - 1 + i, static_cast<int>(y.at[lane]) - 1 + j,
                                 static_cast<int>(z.at[lane]) - 1) + 4 * piece;
              },
              four);
          for (int n = 0; n < 4; ++n)
            numbers[4 * piece + n] = T(__builtin_convertvector(four[n], typename T::Vector));
        }
        return;
      }
    }
    alignas(64) double values[12][lanes];
    for (int lane = 0; lane < lanes; ++lane) {
      const float* column = grid.node(mirrored(x.at[lane] - 1 + i, grid.size[0]),
                                      mirrored(y.at[lane] - 1 + j, grid.size[1]), 0);
      for (int k = 0; k < 4; ++k) {
        const float* node = column + 3 * mirrored(z.at[lane] - 1 + k, grid.size[2]);
        for (int c = 0; c < 3; ++c) values[3 * k + c][lane] = node[c];
      }
    }
    for (int n = 0; n < 12; ++n) __builtin_memcpy(&numbers[n], values[n], sizeof(T));
  }

 private:
  /// Mirror an index beyond the edges, as scipy.ndimage did for the coefficients (mode "mirror").
  KERNEL_FUNCTION static int mirrored(std::ptrdiff_t index, int size) {
    const auto i = static_cast<int>(index);
    return i < 0 ? -i : i >= size ? 2 * (size - 1) - i : i;
  }

  KERNEL_FUNCTION bool at_edge(const Cell<T>& cell) const {
    bool result = false;
    for (int axis = 0; axis < 3; ++axis)
      result = result || any((cell.node[axis] < T(1.0)) | (cell.node[axis] > T(grid.size[axis] - 3.0)));
    return result;
  }
};

template <class T>
KERNEL_FUNCTION void tricubic(const FieldGrid& grid, const Cell<T>& cell, T (&value)[3], T (&by_x)[3], T (&by_y)[3]) {
  T wx[4], wy[4], wz[4], sx[4], sy[4];
  spline_weights(cell.fraction[0], wx);
  spline_weights(cell.fraction[1], wy);
  spline_weights(cell.fraction[2], wz);
  spline_slopes(cell.fraction[0], sx);
  spline_slopes(cell.fraction[1], sy);
  const Columns<T> columns(grid, cell);
  for (int c = 0; c < 3; ++c) value[c] = by_x[c] = by_y[c] = T(0.0);
  for (int i = 0; i < 4; ++i) {
    T plane[3] = {T(0.0), T(0.0), T(0.0)}, slope[3] = {T(0.0), T(0.0), T(0.0)};
    for (int j = 0; j < 4; ++j) {
      T b[12];
      columns.load(i, j, b);
      for (int c = 0; c < 3; ++c) {
        const T sum = wz[0] * b[c] + wz[1] * b[3 + c] + wz[2] * b[6 + c] + wz[3] * b[9 + c];
        plane[c] = plane[c] + wy[j] * sum;
        slope[c] = slope[c] + sy[j] * sum;
      }
    }
    for (int c = 0; c < 3; ++c) {
      value[c] = value[c] + wx[i] * plane[c];
      by_x[c] = by_x[c] + sx[i] * plane[c];
      by_y[c] = by_y[c] + wx[i] * slope[c];
    }
  }
}

/// The field near the points of all lanes. A trilinear field is that of a point's cell, which goes on beyond the faces.
/// Each lane repeats the operations of `FieldNear` in the same order, so that the field has the same bits.
template <class T>
class FieldNearLanes {
 public:
  KERNEL_FUNCTION FieldNearLanes(const FieldGrid& grid, const T& x, const T& y, const T& z) : grid_(grid) {
    if (grid.cubic) return;
    const T point[3] = {x, y, z};
    for (int axis = 0; axis < 3; ++axis) {
      const T scaled = (point[axis] - grid.origin[axis]) * (1.0 / grid.spacing[axis]);
      // Beyond the map, the nearest cell.
      first_[axis] = select(scaled > T(0.0), round_down(smaller(scaled, T(grid.size[axis] - 2.0))), T(0.0));
    }
    const std::ptrdiff_t y_stride = 3 * static_cast<std::ptrdiff_t>(grid.size[2]);
    const std::ptrdiff_t x_stride = y_stride * grid.size[1];
    const Places<T> places =
        whole_numbers(T(3.0 * ((first_[0] * grid.size[1] + first_[1]) * grid.size[2] + first_[2])));
    for (int corner = 0; corner < 4; ++corner) {
      const std::ptrdiff_t offset = corner / 2 * x_stride + corner % 2 * y_stride;
      load_pair(grid.nodes, places, offset, cell_.of[2 * corner], cell_.of[2 * corner + 1]);
    }
    cell_.expand();
  }

  /// Find the field in T at points. The result is false outside the map, unless the field counts as zero there.
  KERNEL_FUNCTION Mask<T> at(const T& x, const T& y, const T& z, Vector3<T>& field) const {
    Cell<T> cell;
    T found[3], by_x[3], by_y[3];
    const Mask<T> inside = find({x, y, z}, cell);
    if (grid_.cubic) {
      tricubic(grid_, cell, found, by_x, by_y);
    } else {
      for (int c = 0; c < 3; ++c) found[c] = cell_.at(cell.fraction, c);
    }
    field = {select(inside, T(found[0] * grid_.scale), T(0.0)), select(inside, T(found[1] * grid_.scale), T(0.0)),
             select(inside, T(found[2] * grid_.scale), T(0.0))};
    return grid_.zero_outside ? finite(T(x + y + z)) : inside;
  }

  /// The same with derivatives across the beam. `turn` multiplies the map by the polarity.
  KERNEL_FUNCTION Mask<T> across(const T& turn, const T& x, const T& y, const T& z, FieldAcross<T>& field) const {
    Cell<T> cell;
    T found[3], by_x[3], by_y[3];
    const Mask<T> inside = find({x, y, z}, cell);
    if (grid_.cubic) {
      tricubic(grid_, cell, found, by_x, by_y);
    } else {
      const auto& [fx, fy, fz] = cell.fraction;
      for (int c = 0; c < 3; ++c) {
        const auto& of = cell_.of;
        found[c] = cell_.at(cell.fraction, c);
        by_x[c] = (of[4][c] + fz * of[5][c]) + fy * (of[6][c] + fz * of[7][c]);
        by_y[c] = (of[2][c] + fz * of[3][c]) + fx * (of[6][c] + fz * of[7][c]);
      }
    }
    const T scale = select(inside, T(turn * grid_.scale), T(0.0));
    const T x_scale = scale * (1.0 / grid_.spacing[0]);
    const T y_scale = scale * (1.0 / grid_.spacing[1]);
    field.value = {found[0] * scale, found[1] * scale, found[2] * scale};
    field.by_x = {by_x[0] * x_scale, by_x[1] * x_scale, by_x[2] * x_scale};
    field.by_y = {by_y[0] * y_scale, by_y[1] * y_scale, by_y[2] * y_scale};
    return grid_.zero_outside ? finite(T(x + y + z)) : inside;
  }

 private:
  const FieldGrid& grid_;
  T first_[3];
  CellField<T> cell_;

  /// Find the cells of points; for a trilinear field, only the fractions of the way through the cell near by.
  KERNEL_FUNCTION Mask<T> find(const T (&point)[3], Cell<T>& cell) const {
    if (grid_.cubic) return find_cell(grid_, point, cell);
    Mask<T> inside = point[0] == point[0];
    for (int axis = 0; axis < 3; ++axis) {
      const T scaled = (point[axis] - grid_.origin[axis]) * (1.0 / grid_.spacing[axis]);
      const Mask<T> here = at_most(T(0.0), scaled) & at_most(scaled, T(grid_.size[axis] - 1.0));
      cell.fraction[axis] = select(here, T(scaled - first_[axis]), T(0.0));
      inside = inside & here;
    }
    return inside;
  }
};

}  // namespace parkf::transport
