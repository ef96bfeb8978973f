#pragma once
// Look-up in a field map at the positions of several particles. Each lane goes through the operations of field.hpp in
// their order, so that it gets the same bits.

#include "numbers/lanes.hpp"
#include "transport/field.hpp"

namespace parkf::transport {

/// Whole numbers, one a lane.
template <int N>
struct Indices {
  typedef int Vector __attribute__((vector_size(N * sizeof(int))));
};

/// The components of one lane's field, side by side: the nodes of a map hold them so.
struct Components {
  typedef float Floats __attribute__((vector_size(16)));
  typedef double Doubles __attribute__((vector_size(32)));

  /// Between a node and the next one in z, which are six numbers in a row; the fourth component is of no use.
  KERNEL_FUNCTION static Doubles along_z(const float* node, double fraction) {
    Floats low, shifted;
    __builtin_memcpy(&low, node, sizeof low);
    __builtin_memcpy(&shifted, node + 2, sizeof shifted);
    const Floats high = __builtin_shufflevector(shifted, shifted, 1, 2, 3, 3);
    const Floats difference = high - low;
    return __builtin_convertvector(low, Doubles) + fraction * __builtin_convertvector(difference, Doubles);
  }

  /// Four nodes that follow each other in z, which are twelve numbers in a row, with their weights.
  KERNEL_FUNCTION static Doubles along_z(const float* node, const double (&weight)[4]) {
    Floats a, b, c;
    __builtin_memcpy(&a, node, sizeof a);
    __builtin_memcpy(&b, node + 4, sizeof b);
    __builtin_memcpy(&c, node + 8, sizeof c);
    const Floats second = __builtin_shufflevector(a, b, 3, 4, 5, 5), third = __builtin_shufflevector(b, c, 2, 3, 4, 4),
                 fourth = __builtin_shufflevector(c, c, 1, 2, 3, 3);
    return weight[0] * __builtin_convertvector(a, Doubles) + weight[1] * __builtin_convertvector(second, Doubles) +
           weight[2] * __builtin_convertvector(third, Doubles) + weight[3] * __builtin_convertvector(fourth, Doubles);
  }
};

/// As `tricubic`; faster where no node lies beyond the map's edges.
KERNEL_FUNCTION Components::Doubles tricubic_components(const FieldGrid& grid, const CellPosition<double> (&cell)[3]) {
  bool inner = true;
  for (int axis = 0; axis < 3; ++axis) inner &= cell[axis].index > 0 && cell[axis].index < grid.size[axis] - 2;
  if (!inner) {
    const Vector3<double> b = tricubic(grid, cell);
    return Components::Doubles{b.x, b.y, b.z, 0.0};
  }
  double wx[4], wy[4], wz[4];
  spline_weights(cell[0].fraction, wx);
  spline_weights(cell[1].fraction, wy);
  spline_weights(cell[2].fraction, wz);
  Components::Doubles result{};
  for (int i = 0; i < 4; ++i) {
    Components::Doubles plane{};
    for (int j = 0; j < 4; ++j) {
      const float* node = grid.node(cell[0].index - 1 + i, cell[1].index - 1 + j, cell[2].index - 1);
      plane = plane + wy[j] * Components::along_z(node, wz);
    }
    result = result + wx[i] * plane;
  }
  return result;
}

/// Field in T at the points of all lanes; holds for those inside the map, or where the field outside counts as zero.
template <int N>
KERNEL_FUNCTION typename Lanes<double, N>::Mask field_at(const FieldGrid& grid, const Lanes<double, N>& x,
                                                         const Lanes<double, N>& y, const Lanes<double, N>& z,
                                                         Vector3<Lanes<double, N>>& field) {
  using T = Lanes<double, N>;
  using Whole = typename Indices<N>::Vector;
  const T coordinates[3] = {x, y, z};
  T fraction[3];
  Whole index[3];
  typename T::Mask inside{};
  for (int axis = 0; axis < 3; ++axis) {
    const T scaled = (coordinates[axis] - T(grid.origin[axis])) * T(1.0 / grid.spacing[axis]);
    const T last(grid.size[axis] - 1);
    const auto here = (!(scaled < T(0.0))) & (!(scaled > last)) & (scaled == scaled);
    inside = axis == 0 ? here : inside & here;
    // The upper edge belongs to the last cell.
    index[axis] = __builtin_convertvector(select(here, scaled, T(0.0)).v, Whole);
    const Whole highest = Whole{} + (grid.size[axis] - 2);
    index[axis] = index[axis] < highest ? index[axis] : highest;
    fraction[axis] = scaled - T(__builtin_convertvector(index[axis], typename T::Vector));
  }
  double found[3][N];
  if (grid.cubic) {
    for (int i = 0; i < N; ++i) {
      const CellPosition<double> cell[3] = {{index[0][i], fraction[0].v[i]},
                                            {index[1][i], fraction[1].v[i]},
                                            {index[2][i], fraction[2].v[i]}};
      const auto b = tricubic_components(grid, cell);
      for (int c = 0; c < 3; ++c) found[c][i] = b[c];
    }
  } else {
    const std::ptrdiff_t y_stride = 3 * static_cast<std::ptrdiff_t>(grid.size[2]), x_stride = y_stride * grid.size[1];
    for (int i = 0; i < N; ++i) {
      const float* node = grid.nodes + index[0][i] * x_stride + index[1][i] * y_stride + 3 * index[2][i];
      const double fx = fraction[0].v[i], fy = fraction[1].v[i], fz = fraction[2].v[i];
      const auto b00 = Components::along_z(node, fz);
      const auto b01 = Components::along_z(node + y_stride, fz);
      const auto b10 = Components::along_z(node + x_stride, fz);
      const auto b11 = Components::along_z(node + x_stride + y_stride, fz);
      const auto b0 = b00 + fy * (b01 - b00);
      const auto b1 = b10 + fy * (b11 - b10);
      const auto b = b0 + fx * (b1 - b0);
      for (int c = 0; c < 3; ++c) found[c][i] = b[c];
    }
  }
  T* const components[3] = {&field.x, &field.y, &field.z};
  for (int c = 0; c < 3; ++c) {
    T all;
    __builtin_memcpy(&all.v, found[c], sizeof all.v);
    *components[c] = select(inside, all * T(grid.scale), T(0.0));
  }
  if (!grid.zero_outside) return inside;
  return inside | finite(x + y + z);
}

}  // namespace parkf::transport
