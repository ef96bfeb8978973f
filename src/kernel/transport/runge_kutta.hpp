#pragma once
// A charged particle's path through the field by an adaptive Runge-Kutta-Nystrom method of fourth order with an
// error estimate from the same four slopes (Lund et al., JINST 4 (2009) P04001), with z as the variable.

#include <algorithm>
#include <cmath>

#include "transport/field.hpp"

namespace parkf::transport {

constexpr double kappa = 0.299792458;  // MeV / (T mm): curvature of a unit charge at 1 MeV in 1 T

constexpr int most_steps = 100000;
constexpr double shortest_step = 1e-3;  // mm; below it an error estimate is rounding
constexpr double steepest_path = 10.0;  // slope beyond which z is no useful variable
constexpr double arrived = 1e-6;        // mm; the last correction is a straight line
constexpr double beyond_face = 1e-6;    // mm; a step to a cell's face goes on so far, into the next cell

/// (x, y) in mm, slopes, q/p in 1/MeV, at z in mm.
template <class T>
struct State {
  T x, y, tx, ty, qop, z;
};

/// z = z0 + dzdx x + dzdy y
struct Plane {
  double z0, dzdx, dzdy;
};

template <class T>
struct Curvature {
  T x, y;  // d(tx)/dz, d(ty)/dz in 1/mm
};

template <class T>
KERNEL_FUNCTION Curvature<T> curvature(const T& tx, const T& ty, const T& qop, const Vector3<T>& field) {
  const T xx = 1.0 + tx * tx;
  const T yy = ty * ty;
  const T factor = kappa * qop * root(T(xx + yy));
  return {factor * (ty * (tx * field.x + field.z) - xx * field.y),
          factor * ((1.0 + yy) * field.x - tx * (ty * field.y + field.z))};
}

/// Try one step of length h. `error` is the estimate of its local error in mm. The result is false if the step leaves
/// the map.
template <class T, class Real>
KERNEL_FUNCTION Mask<T> try_step(const FieldGrid& grid, const State<T>& from, const T& h, State<T>& to, Real& error) {
  Vector3<T> field;
  const T half = 0.5 * h;
  // A step stays in the cell of its middle, but for tiny distances.
  const auto near = field_near(grid, T(from.x + half * from.tx), T(from.y + half * from.ty), T(from.z + half));
  Mask<T> inside = near.at(from.x, from.y, from.z, field);
  if (!any(inside)) return inside;
  const auto k1 = curvature(from.tx, from.ty, from.qop, field);
  const T eighth = 0.5 * half * half;
  inside = inside & near.at(T(from.x + half * from.tx + eighth * k1.x), T(from.y + half * from.ty + eighth * k1.y),
                            T(from.z + half), field);
  if (!any(inside)) return inside;
  const auto k2 = curvature(T(from.tx + half * k1.x), T(from.ty + half * k1.y), from.qop, field);
  const auto k3 = curvature(T(from.tx + half * k2.x), T(from.ty + half * k2.y), from.qop, field);
  const T square = half * h;
  inside = inside & near.at(T(from.x + h * from.tx + square * k3.x), T(from.y + h * from.ty + square * k3.y),
                            T(from.z + h), field);
  if (!any(inside)) return inside;
  const auto k4 = curvature(T(from.tx + h * k3.x), T(from.ty + h * k3.y), from.qop, field);

  const T sixth = h * (1.0 / 6.0);
  to.x = from.x + h * (from.tx + sixth * (k1.x + k2.x + k3.x));
  to.y = from.y + h * (from.ty + sixth * (k1.y + k2.y + k3.y));
  to.tx = from.tx + sixth * (k1.x + 2.0 * (k2.x + k3.x) + k4.x);
  to.ty = from.ty + sixth * (k1.y + 2.0 * (k2.y + k3.y) + k4.y);
  to.qop = from.qop;
  to.z = from.z + h;
  error = value(h) * value(h) *
          (magnitude(Real(value(k1.x) - value(k2.x) - value(k3.x) + value(k4.x))) +
           magnitude(Real(value(k1.y) - value(k2.y) - value(k3.y) + value(k4.y))));
  return inside;
}

/// Longest step along the tangent that stays in one cell of the map. The derivatives of a trilinear map jump at the
/// faces of its cells, and a step across a face would be less accurate than of fourth order.
template <class T>
KERNEL_FUNCTION T step_within_cell(const FieldGrid& grid, const State<T>& state, const T& direction) {
  const auto to_face = [&](int axis, const T& position, const Mask<T>& up) {
    const T scaled = (position - grid.origin[axis]) * (1.0 / grid.spacing[axis]);
    const T face = select(up, T(round_down(scaled) + 1.0), T(round_up(scaled) - 1.0));
    return T((face - scaled) * grid.spacing[axis]);
  };
  const T position[2] = {state.x, state.y};
  const T motion[2] = {direction * state.tx, direction * state.ty};
  T longest = smaller(T(to_face(2, state.z, direction > T(0.0)) * direction + beyond_face), T(grid.spacing[2]));
  for (int axis = 0; axis < 2; ++axis) {
    const T length = to_face(axis, position[axis], motion[axis] > T(0.0)) / motion[axis] + beyond_face;
    longest = select((length < longest) & !(motion[axis] == T(0.0)), length, longest);
  }
  return longest;
}

/// Distance in z, along the tangent, from a state to a plane.
template <class T, class P>
KERNEL_FUNCTION T distance_to(const P& plane, const State<T>& state) {
  return (plane.z0 + plane.dzdx * state.x + plane.dzdy * state.y - state.z) /
         (1.0 - plane.dzdx * state.tx - plane.dzdy * state.ty);
}

/// Move a state onto its plane, from which it is only `rest` away. Return false if there is no field, or no number.
///
/// The remainder itself is tiny, but with it the derivatives become those of the path's end on the plane.
template <class T>
KERNEL_FUNCTION bool settle(const FieldGrid& grid, const T& rest, State<T>& state) {
  Vector3<T> field;
  if (!(magnitude(value(rest)) <= arrived) || !field_at(grid, state.x, state.y, state.z, field)) return false;
  const auto bend = curvature(state.tx, state.ty, state.qop, field);
  state.x = state.x + rest * state.tx;
  state.y = state.y + rest * state.ty;
  state.tx = state.tx + rest * bend.x;
  state.ty = state.ty + rest * bend.y;
  state.z = state.z + rest;
  return true;
}

/// Carry a state to a plane, forwards or backwards.
///
/// `tolerance` bounds the estimated local error of a step in mm. Return false if the path leaves the map (unless the
/// field counts as zero there), turns back, or needs too many steps. The state is then the last one that was reached.
template <class T>
bool propagate(const FieldGrid& grid, const Plane& plane, double tolerance, State<T>& state) {
  double proposal = grid.spacing[2];
  for (int step = 0; step < most_steps; ++step) {
    const T rest = distance_to(plane, state);
    const double distance = std::abs(value(rest));
    const double direction = value(rest) < 0.0 ? -1.0 : 1.0;
    if (!(distance > arrived)) return settle(grid, rest, state);
    double length = std::min(distance, proposal);
    if (!grid.cubic) {
      const State<double> here{value(state.x), value(state.y), value(state.tx), value(state.ty), 0.0, value(state.z)};
      length = std::min(length, step_within_cell(grid, here, direction));
    }
    const bool shortened = length < proposal;
    bool rejected = false;
    State<T> next;
    double error = 0.0;
    while (true) {
      const bool last = length >= distance;
      const bool inside = try_step(grid, state, last ? rest : T(direction * length), next, error);
      if (inside && (error <= tolerance || length <= shortest_step)) break;
      if (length <= shortest_step) return false;
      rejected = true;
      // A long trial step may leave the map although the path does not.
      length *= inside ? std::clamp(0.9 * std::sqrt(std::sqrt(tolerance / error)), 0.1, 0.9) : 0.5;
    }
    state = next;
    if (!(std::abs(value(state.tx)) < steepest_path && std::abs(value(state.ty)) < steepest_path)) return false;
    // If a cell or the goal has shortened a step, its length is no guide for the next step: keep the older proposal.
    const double advised = length * std::min(0.9 * std::sqrt(std::sqrt(tolerance / std::max(error, 1e-30))), 5.0);
    proposal = shortened && !rejected ? std::max(proposal, advised) : advised;
  }
  return false;
}

}  // namespace parkf::transport
