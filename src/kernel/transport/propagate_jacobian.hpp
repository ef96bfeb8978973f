#pragma once
// A particle's path through the field, with the derivatives of its end with respect to its start, for one particle or
// several in lanes. These are the steps of runge_kutta.hpp, differentiated along the way (Bugge and Myrheim, Nucl.
// Instrum. Meth. 179 (1981) 365).

#include "numbers/lanes.hpp"
#include "transport/field_gradient.hpp"
#include "transport/runge_kutta.hpp"

namespace parkf::transport {

/// Derivatives of x, y, tx, ty with respect to x, y, tx, ty, q/p. q/p does not change.
template <class T>
struct Jacobian {
  T of[4][5];
};

/// The planes that particles go to; their slopes are the same for all.
template <class T>
struct Planes {
  T z0;
  double dzdx, dzdy;
  KERNEL_FUNCTION bool leans() const { return dzdx != 0.0 || dzdy != 0.0; }
};

/// d(tx)/dz and d(ty)/dz, with their derivatives with respect to x, y, tx, ty, q/p.
template <class T>
struct CurvatureChange {
  T x, y, x_by[5], y_by[5];
};

template <class T>
KERNEL_FUNCTION void curvature_change(const T& tx, const T& ty, const T& qop, const FieldAcross<T>& field,
                                      CurvatureChange<T>& k) {
  const T xx = 1.0 + tx * tx;
  const T yy = ty * ty;
  const T length = root(T(xx + yy));
  const T factor = kappa * qop * length;
  const auto along_x = [&](const Vector3<T>& b) { return ty * (tx * b.x + b.z) - xx * b.y; };
  const auto along_y = [&](const Vector3<T>& b) { return (1.0 + yy) * b.x - tx * (ty * b.y + b.z); };
  const Vector3<T>& b = field.value;
  const T x = along_x(b), y = along_y(b);
  k.x = factor * x;
  k.y = factor * y;
  k.x_by[0] = factor * along_x(field.by_x);
  k.x_by[1] = factor * along_x(field.by_y);
  k.y_by[0] = factor * along_y(field.by_x);
  k.y_by[1] = factor * along_y(field.by_y);
  const T inverse = 1.0 / (xx + yy);
  const T by_tx = tx * inverse, by_ty = ty * inverse;
  k.x_by[2] = factor * (ty * b.x - 2.0 * tx * b.y) + k.x * by_tx;
  k.x_by[3] = factor * (tx * b.x + b.z) + k.x * by_ty;
  k.y_by[2] = k.y * by_tx - factor * (ty * b.y + b.z);
  k.y_by[3] = factor * (2.0 * ty * b.x - tx * b.y) + k.y * by_ty;
  k.x_by[4] = kappa * length * x;
  k.y_by[4] = kappa * length * y;
}

/// A trial step of length h.
template <class T>
struct Step {
  State<T> end;
  T error;         // estimate of its local error in mm
  Mask<T> inside;  // the map
  CurvatureChange<T> k[4];
};

template <class T>
KERNEL_FUNCTION void try_step(const FieldGrid& grid, const T& turn, const State<T>& from, const T& h, Step<T>& step) {
  auto& [k1, k2, k3, k4] = step.k;
  FieldAcross<T> field;
  const T half = 0.5 * h;
  const FieldNearLanes<T> near(grid, from.x + half * from.tx, from.y + half * from.ty, from.z + half);
  step.inside = near.across(turn, from.x, from.y, from.z, field);
  curvature_change(from.tx, from.ty, from.qop, field, k1);
  const T eighth = 0.5 * half * half;
  step.inside = step.inside & near.across(turn, T(from.x + half * from.tx + eighth * k1.x),
                                          T(from.y + half * from.ty + eighth * k1.y), T(from.z + half), field);
  curvature_change(T(from.tx + half * k1.x), T(from.ty + half * k1.y), from.qop, field, k2);
  curvature_change(T(from.tx + half * k2.x), T(from.ty + half * k2.y), from.qop, field, k3);
  const T square = half * h;
  step.inside = step.inside & near.across(turn, T(from.x + h * from.tx + square * k3.x),
                                          T(from.y + h * from.ty + square * k3.y), T(from.z + h), field);
  curvature_change(T(from.tx + h * k3.x), T(from.ty + h * k3.y), from.qop, field, k4);
  const T sixth = h * (1.0 / 6.0);
  step.end.x = from.x + h * (from.tx + sixth * (k1.x + k2.x + k3.x));
  step.end.y = from.y + h * (from.ty + sixth * (k1.y + k2.y + k3.y));
  step.end.tx = from.tx + sixth * (k1.x + 2.0 * (k2.x + k3.x) + k4.x);
  step.end.ty = from.ty + sixth * (k1.y + 2.0 * (k2.y + k3.y) + k4.y);
  step.end.qop = from.qop;
  step.end.z = from.z + h;
  step.error = h * h * (magnitude(T(k1.x - k2.x - k3.x + k4.x)) + magnitude(T(k1.y - k2.y - k3.y + k4.y)));
}

/// Carry derivatives along a step, in the lanes that have made the step.
template <class T>
KERNEL_FUNCTION void follow(const CurvatureChange<T> (&k)[4], const T& h, const Mask<T>& taken, Jacobian<T>& jacobian) {
  const T half = 0.5 * h;
  const T eighth = 0.5 * half * half;
  const T square = half * h;
  const T sixth = h * (1.0 / 6.0);
  for (int c = 0; c < 5; ++c) {
    const T x = jacobian.of[0][c], y = jacobian.of[1][c], tx = jacobian.of[2][c], ty = jacobian.of[3][c];
    T ax[4], ay[4];
    const auto slope = [&](int i, const T& dx, const T& dy, const T& dtx, const T& dty) {
      ax[i] = k[i].x_by[0] * dx + k[i].x_by[1] * dy + (k[i].x_by[2] * dtx + k[i].x_by[3] * dty);
      ay[i] = k[i].y_by[0] * dx + k[i].y_by[1] * dy + (k[i].y_by[2] * dtx + k[i].y_by[3] * dty);
      if (c == 4) {
        ax[i] += k[i].x_by[4];
        ay[i] += k[i].y_by[4];
      }
    };
    slope(0, x, y, tx, ty);
    const T middle_x = x + half * tx + eighth * ax[0], middle_y = y + half * ty + eighth * ay[0];
    slope(1, middle_x, middle_y, T(tx + half * ax[0]), T(ty + half * ay[0]));
    slope(2, middle_x, middle_y, T(tx + half * ax[1]), T(ty + half * ay[1]));
    slope(3, T(x + h * tx + square * ax[2]), T(y + h * ty + square * ay[2]), T(tx + h * ax[2]), T(ty + h * ay[2]));
    jacobian.of[0][c] = select(taken, T(x + h * (tx + sixth * (ax[0] + ax[1] + ax[2]))), x);
    jacobian.of[1][c] = select(taken, T(y + h * (ty + sixth * (ay[0] + ay[1] + ay[2]))), y);
    jacobian.of[2][c] = select(taken, T(tx + sixth * (ax[0] + 2.0 * (ax[1] + ax[2]) + ax[3])), tx);
    jacobian.of[3][c] = select(taken, T(ty + sixth * (ay[0] + 2.0 * (ay[1] + ay[2]) + ay[3])), ty);
  }
}

/// Move ends that are slightly off their leaning plane onto it, with the derivatives at the crossing.
template <class T>
KERNEL_FUNCTION Mask<T> land(const FieldGrid& grid, const T& turn, const Planes<T>& plane, State<T>& state,
                             Jacobian<T>& jacobian) {
  FieldAcross<T> field;
  const Mask<T> inside =
      FieldNearLanes<T>(grid, state.x, state.y, state.z).across(turn, state.x, state.y, state.z, field);
  CurvatureChange<T> bend;
  curvature_change(state.tx, state.ty, state.qop, field, bend);
  const T inverse = 1.0 / (1.0 - plane.dzdx * state.tx - plane.dzdy * state.ty);
  const T rest = (plane.z0 + plane.dzdx * state.x + plane.dzdy * state.y - state.z) * inverse;
  for (int c = 0; c < 5; ++c) {
    auto& of = jacobian.of;
    const T change = (plane.dzdx * of[0][c] + plane.dzdy * of[1][c]) * inverse;
    of[0][c] += rest * of[2][c] + change * state.tx;
    of[1][c] += rest * of[3][c] + change * state.ty;
    of[2][c] += change * bend.x;
    of[3][c] += change * bend.y;
  }
  state.x += rest * state.tx;
  state.y += rest * state.ty;
  state.tx += rest * bend.x;
  state.ty += rest * bend.y;
  state.z += rest;
  return inside;
}

/// Carry states to planes, forwards or backwards, each lane in steps of its own, and return their derivatives.
///
/// `which` are the lanes to carry. The result is the lanes that arrive: a track may leave the map (unless the field
/// counts as zero there), turn back, or need too many steps. The derivatives are those of the state on the plane with
/// respect to the state at the start, at fixed z of the start. `propagate` chooses the same steps. Each compilation has
/// its own copy of this function, because other copies may be for other machines.
template <class T>
static Mask<T> propagate_with_jacobian(const FieldGrid& grid, const T& turn, const Planes<T>& plane, double tolerance,
                                       const Mask<T>& which, State<T>& state, Jacobian<T>& jacobian) {
  const Mask<T> none = which & !which;
  for (int i = 0; i < 4; ++i) {
    for (int c = 0; c < 5; ++c) jacobian.of[i][c] = T(i == c ? 1.0 : 0.0);
  }
  Mask<T> going = which, there = none, again = none, rejected = none, shortened = none;
  T proposal = T(grid.spacing[2]), length = proposal;
  for (int trial = 0; trial < most_steps; ++trial) {
    const T rest = distance_to(plane, state);
    const T distance = magnitude(rest);
    const T direction = side(rest);
    there = there | (going & at_most(distance, T(arrived)));
    going = going & (distance > T(arrived));  // not where it is no number
    if (!any(going)) break;
    T fresh = smaller(distance, proposal);
    if (!grid.cubic) fresh = smaller(fresh, step_within_cell(grid, state, direction));
    length = select(again, length, fresh);
    shortened = (again & shortened) | ((length < proposal) & !again);
    rejected = again & rejected;
    const T h = select(length < distance, T(direction * length), rest);
    Step<T> step;
    try_step(grid, turn, state, h, step);

    const Mask<T> tiny = at_most(length, T(shortest_step));
    const Mask<T> good = going & step.inside & (at_most(step.error, T(tolerance)) | tiny);
    const Mask<T> bad = going & !good;
    follow(step.k, h, good, jacobian);
    state.x = select(good, step.end.x, state.x);
    state.y = select(good, step.end.y, state.y);
    state.tx = select(good, step.end.tx, state.tx);
    state.ty = select(good, step.end.ty, state.ty);
    state.z = select(good, step.end.z, state.z);
    const Mask<T> flat = (magnitude(state.tx) < T(steepest_path)) & (magnitude(state.ty) < T(steepest_path));
    going = going & (bad | flat) & !(bad & tiny);

    const T factor = 0.9 * root(root(T(tolerance / larger(step.error, T(1e-30)))));
    // If a cell or the goal has shortened a step, its length is no guide for the next step: keep the older proposal.
    const T advised = length * smaller(factor, T(5.0));
    const T next = select(shortened & !rejected, larger(proposal, advised), advised);
    proposal = select(good, next, proposal);
    // A long trial step may leave the map although the path does not.
    const T less = select(step.inside, larger(smaller(factor, T(0.9)), T(0.1)), T(0.5));
    length = select(bad, T(length * less), length);
    again = bad;
    rejected = rejected | bad;
  }
  if (plane.leans()) there = there & land(grid, turn, plane, state, jacobian);
  return there;
}

}  // namespace parkf::transport
