#pragma once
// States inside the magnet: a track is carried from any z to any other, slice by slice, with its covariance.

#include "slices_generated.hpp"

namespace parkf::slices {

/// A thin layer of material: z (mm), the width of its scattering times momentum (MeV), and half the size of the opening
/// around the beam pipe (mm).
struct Scatterer {
  double z, angle, opening;
};

/// The numbers of all slices.
struct Slices {
  int count;
  double first, length;     // z where the first slice begins, and the length of each, mm
  double edge_x, edge_y;    // of the grid, in x/z and y/z in the middle of a slice
  const double* centre;     // the bend in the centre of each slice, MeV/mm
  const float* numbers;     // (slice, node in x, node in y, row)
  int scatterers;
  const Scatterer* scatterer;
};

constexpr int covariance_numbers = 15;  // lower triangle of x, y, tx, ty, q/p, row by row

/// A track on its way.
template <class T>
struct Underway {
  State<T> s;
  Mask<T> lost;  // whether it left the grid or the range in z
};

/// The same with its derivatives with respect to q/p.
template <class T>
struct Bending : Underway<T> {
  T by_k[4];
};

/// The same with all derivatives of x, y, tx, ty, with respect to x, y, tx, ty, q/p at the start.
template <class T>
struct Moving : Underway<T> {
  T jacobian[4][5];
};

/// The same with its covariance, to which the material on the way adds scattering.
template <class T>
struct Scattered : Moving<T> {
  T c[covariance_numbers];
};

/// The place of tracks on an axis of the grid: the first of three nodes, their weights, and derivatives by mm.
template <class T>
struct Axis {
  T first, w[3], slope[3];
  Mask<T> outside;

  KERNEL_FUNCTION Axis(const T& mm, double edge, int cells) {
    using S = Scalar<T>;
    const S per_mm = S(0.5 * cells / edge);
    const T at = mm * T(per_mm) + T(S(0.5) * S(cells));
    // With this order of the two limits even NaN becomes a place on the grid, and never a wrong address.
    first = smaller(larger(round_down(at), T(0)), T(S(cells - 1)));
    const Mask<T> within = at_most(T(0), at) & at_most(at, T(S(cells)));
    outside = !within;
    const T t = smaller(larger(at - first, T(0)), T(1));
    spline_weights(t, w, slope);
    for (T& one : slope) one = one * T(per_mm);
  }
};

/// Interpolate the maps of a slice for one track.
template <class S>
KERNEL_FUNCTION Fields<S> look_up(const float* numbers, const Axis<S>& x, const Axis<S>& y) {
  const float* node = numbers + (to_integer(x.first) * nodes_y + to_integer(y.first)) * row;
  S sum[maps] = {}, by_x[sloped] = {}, by_y[sloped] = {};
  for (int a = 0; a < 3; ++a, node += nodes_y * row) {
    S along[maps] = {}, along_y[sloped] = {};
    for (int b = 0; b < 3; ++b) {
      for (int m = 0; m < maps; ++m) along[m] += y.w[b] * S(node[b * row + m]);
      for (int m = 0; m < sloped; ++m) along_y[m] += y.slope[b] * S(node[b * row + m]);
    }
    for (int m = 0; m < maps; ++m) sum[m] += x.w[a] * along[m];
    for (int m = 0; m < sloped; ++m) by_x[m] += x.slope[a] * along[m];
    for (int m = 0; m < sloped; ++m) by_y[m] += x.w[a] * along_y[m];
  }
  Fields<S> fields;
  keep(fields, sum, by_x, by_y);
  return fields;
}

KERNEL_FUNCTION constexpr int element(int i, int j) {
  return i < j ? j * (j + 1) / 2 + i : i * (i + 1) / 2 + j;
}

/// Begin to count derivatives.
template <class T>
KERNEL_FUNCTION void begin(Bending<T>& track) {
  for (T& one : track.by_k) one = T(0);
}
template <class T>
KERNEL_FUNCTION void begin(Moving<T>& track) {
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 5; ++j) track.jacobian[i][j] = T(i == j ? 1 : 0);
  }
}

/// Multiply the Jacobian by that of a hop. q/p stays.
template <class T>
KERNEL_FUNCTION void chain(const T (&f)[4][5], T (&jacobian)[4][5]) {
  for (int j = 0; j < 5; ++j) {
    T column[4];
    for (int i = 0; i < 4; ++i) {
      column[i] = T(Scalar<T>(0));
      if (j == 4) column[i] = f[i][4];
      for (int m = 0; m < 4; ++m) column[i] += f[i][m] * jacobian[m][j];
    }
    for (int i = 0; i < 4; ++i) jacobian[i][j] = column[i];
  }
}

/// Transport a covariance by the Jacobian of a hop.
template <class T>
KERNEL_FUNCTION void transport(const T (&f)[4][5], T (&c)[covariance_numbers]) {
  T half[4][5];  // F·C
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 5; ++j) {
      half[i][j] = f[i][4] * c[element(4, j)];
      for (int m = 0; m < 4; ++m) half[i][j] += f[i][m] * c[element(m, j)];
    }
  }
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j <= i; ++j) {
      T sum = half[i][4] * f[j][4];
      for (int m = 0; m < 4; ++m) sum += half[i][m] * f[j][m];
      c[element(i, j)] = sum;
    }
    c[element(4, i)] = half[i][4];
  }
}

/// Add the scattering in the material of a slice between the z of begin and of end.
template <class T>
KERNEL_FUNCTION void scatter(const Slices& slices, const T& z_begin, const T& z_end, Scattered<T>& track) {
  using S = Scalar<T>;
  const T zero(0), low = smaller(z_begin, z_end), high = larger(z_begin, z_end);
  for (int n = 0; n < slices.scatterers; ++n) {
    const Scatterer& layer = slices.scatterer[n];
    const T z(static_cast<S>(layer.z)), way = z_end - z;
    const Mask<T> crossed = (low < z) & at_most(z, high);
    if (!any(crossed)) continue;
    const T opening(static_cast<S>(layer.opening));
    const T x = track.s.x - track.s.tx * way, y = track.s.y - track.s.ty * way;
    const Mask<T> free = (magnitude(x) < opening) & (magnitude(y) < opening), hit = crossed & !free;
    T turn[2];
    turns(track.s, turn[0], turn[1]);
    const T angle = select(hit, T(static_cast<S>(layer.angle)), zero);
    for (int axis = 0; axis < 2; ++axis) {
      const T width = angle * turn[axis], square = width * width;
      track.c[element(axis, axis)] += way * way * square;
      track.c[element(2 + axis, axis)] += way * square;
      track.c[element(2 + axis, 2 + axis)] += square;
    }
  }
}

/// Go on behind a hop with Jacobian `f`.
template <class T>
KERNEL_FUNCTION void advance(const Slices&, const T (&f)[4][5], const T&, const T&, Bending<T>& track) {
  T moved[4];
  for (int i = 0; i < 4; ++i) {
    moved[i] = f[i][4];
    for (int m = 0; m < 4; ++m) moved[i] += f[i][m] * track.by_k[m];
  }
  for (int i = 0; i < 4; ++i) track.by_k[i] = moved[i];
}
template <class T>
KERNEL_FUNCTION void advance(const Slices&, const T (&f)[4][5], const T&, const T&, Moving<T>& track) {
  chain(f, track.jacobian);
}
template <class T>
KERNEL_FUNCTION void advance(const Slices& slices, const T (&f)[4][5], const T& z_begin, const T& z_end,
                             Scattered<T>& track) {
  chain(f, track.jacobian);
  transport(f, track.c);
  scatter(slices, z_begin, z_end, track);
}

/// Carry tracks through one slice, as far as it lies between z_from and z_to. Tracks that move upstream wait while
/// others move `downstream`, and the other way round.
template <class T, class Track>
KERNEL_FUNCTION void through(const Slices& slices, int number, bool downstream, const T& pol, const T& z_from,
                             const T& z_to, Track& track) {
  using S = Scalar<T>;
  const double z = slices.first + (number + 0.5) * slices.length;
  const T middle_z(static_cast<S>(z)), half(S(0.5)), per_mm(static_cast<S>(1 / slices.length));
  Hop<T> hop;
  hop.length = T(static_cast<S>(slices.length));
  hop.begin = smaller(larger((z_from - middle_z) * per_mm, -half), half);
  hop.end = smaller(larger((z_to - middle_z) * per_mm, -half), half);
  const Mask<T> moving = downstream ? hop.begin < hop.end : hop.end < hop.begin;
  if (!any(moving)) return;
  hop.end = select(moving, hop.end, hop.begin);
  hop.centre = T(static_cast<S>(slices.centre[number]));
  T x, y;
  middle(hop, pol, track.s, x, y);
  const Axis<T> on_x(x, slices.edge_x * z, cells_x), on_y(y, slices.edge_y * z, cells_y);
  const Mask<T> lost = moving & (on_x.outside | on_y.outside);
  track.lost = track.lost | lost;
  const Fields<T> fields = look_up(slices.numbers + number * nodes_x * nodes_y * row, on_x, on_y);
  T f[4][5];
  State<T> s = track.s;
  cross(hop, fields, pol, s, f);
  // A track that waits stays exactly as it is, so that its result does not depend on the others.
  if (any(!moving)) {
    s = {select(moving, s.x, track.s.x), select(moving, s.y, track.s.y), select(moving, s.tx, track.s.tx),
         select(moving, s.ty, track.s.ty), s.k};
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 5; ++j) f[i][j] = select(moving, f[i][j], T(S(i == j ? 1 : 0)));
    }
  }
  track.s = s;
  advance(slices, f, middle_z + hop.begin * hop.length, middle_z + hop.end * hop.length, track);
}

/// Carry tracks from z_from to z_to (mm), in either direction.
template <class T, class Track>
KERNEL_FUNCTION void carry(const Slices& slices, const T& pol, const T& z_from, const T& z_to, Track& track) {
  using S = Scalar<T>;
  const T first(static_cast<S>(slices.first)), last(static_cast<S>(slices.first + slices.count * slices.length));
  begin(track);
  const Mask<T> within = at_most(first, smaller(z_from, z_to)) & at_most(larger(z_from, z_to), last);
  track.lost = !within;
  // There and back in one loop, because a slice is a lot of code.
  const int there = slices.count, back = 2 * there, end = any(z_to < z_from) ? back : there;
  for (int i = any(z_from < z_to) ? 0 : there; i < end; ++i) {
    through(slices, i < there ? i : back - 1 - i, i < there, pol, z_from, z_to, track);
  }
  const State<T>& s = track.s;
  const Mask<T> good = finite(T(s.x + s.y + s.tx + s.ty));
  track.lost = track.lost | !good;
}

}  // namespace parkf::slices
