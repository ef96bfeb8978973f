#pragma once
// The steps of LHCb's trigger in its own arithmetic, with its Jacobians, for the numbers of production's forms. Each
// step carries the state of a track to z1 and fills the Jacobian. Comments point out where a Jacobian differs from the
// derivatives of the state, and a step from the formulas in parkf.model.steps.

#include "fit/magnet.hpp"
#include "fit/trigger_state.hpp"

namespace parkf::kalman::PARKF_FORMS::trigger {

using namespace parkf::kalman::trigger;

/// Step from the last VELO hit to the first UT layer.
///
/// With the kick a, t = 1 + tx² + ty², b = a²t + 2a·tx·√t and c = b − ty² − 1, tx changes by tx ± √(−(1 + ty'²)(b +
/// tx²)c)/c, with the sign of tx. The sign of the slope behind the kick is therefore lost, and soft tracks that the
/// field turns through the axis are mirrored. The derivatives are those of the trigger, and not of this formula.
template <class T>
KERNEL_FUNCTION void step_vut(const Scalar<T>* p, const T& pol, const T& z1, Track<T>& track, Jacobian<T>& f) {
  using S = Scalar<T>;
  const T one(1), two(2);
  State<T>& s = track.s;
  const T z0 = track.z, dz = z1 - z0, tx = s.tx, ty = s.ty;

  const T turn = pol * T(p[0]) * side(s.y);
  s.ty += turn * s.k * tx;
  f(3, 2) = turn * s.k;
  f(3, 4) = turn * tx;
  s.y += (T(p[3]) * ty + (one - T(p[3])) * s.ty) * dz;
  f(1, 2) = (one - T(p[3])) * dz * f(3, 2);
  f(1, 3) = dz;
  f(1, 4) = (one - T(p[3])) * dz * f(3, 4);

  // In exported files the numbers of the kick have the opposite sign.
  const T by_ty2 = pol * T(S(-1e2) * p[7]);
  const T a_k = pol * (T(S(-10) * p[5]) + T(S(-1e-2) * p[6]) * z0) + by_ty2 * ty * ty;
  const T a = s.k * a_k, t = one + tx * tx + ty * ty, n = single_root(t);
  const T b = a * a * t + two * a * tx * n, bent = b + tx * tx;
  T c = b - ty * ty - one;
  const T least(S(1e-10));
  c = select(magnitude(c) < least, side(c) * least, c);
  const T radicand = -(s.ty * s.ty + one) * bent * c;
  // NaN becomes zero, as in the trigger.
  const T q = single_root(T(select(radicand > T(0), radicand, T(0))));
  s.tx += (tx * c + side(tx) * q) / c;

  const T a_ty = two * by_ty2 * ty * s.k;
  const T b_tx = two * a, b_a = two * (a * t + tx), b_t = a * a + T(S(0.5)) / n;
  const T by_b = tx * q / (two * bent), by_c = tx * q / (two * c), by_ty = s.ty * tx * q / (s.ty * s.ty + one);
  f(2, 2) = one + tx * tx * q / bent + q + by_b * (b_tx + b_t * two * tx) + by_ty * f(3, 2);
  f(2, 3) = by_b * b_a * (a_ty + b_t * two * ty) + by_c * (b_a * a_ty - two * ty) + by_ty;
  f(2, 4) = (by_b + by_c) * b_a * a_k + by_ty * f(3, 4);

  const T middle = T(S(1e3) * p[9]) + T(S(1e-3) * p[10]) * z0 + T(S(1e-5) * p[11]) * z0 * z0 + T(S(1e3) * p[12]) * ty * ty;
  s.x += (middle - z0) * tx + (z1 - middle) * s.tx;
  f(0, 2) = (middle - z0) + (z1 - middle) * f(2, 2);
  f(0, 3) = (z1 - middle) * f(2, 3) + (tx - s.tx) * two * T(S(1e3) * p[12]) * ty;
  f(0, 4) = (z1 - middle) * f(2, 4);
  track.z = z1;
}

/// A width of the scattering: a parameter times a magnitude, in single precision.
template <class T>
KERNEL_FUNCTION T width_of(const T& p, const T& a) {
  return single(T(p * single(magnitude(a))));
}

template <class T>
KERNEL_FUNCTION Noise<T> noise_from(const T& sx, const T& sy, const T& stx, const T& sty, const T& rho_x, const T& rho_y) {
  return {sx * sx, rho_x * sx * stx, stx * stx, sy * sy, rho_y * sy * sty, sty * sty};
}

/// The scattering between VELO hits.
template <class T>
KERNEL_FUNCTION Noise<T> scattering_v(const Scalar<T>* p, const T& dz, const T& k) {
  const T angle = T(Scalar<T>(1e-5) * p[0]) + width_of<T>(p[1], k), shift = T(p[4]) * angle * magnitude(dz);
  return noise_from<T>(shift, shift, angle, angle, p[5], p[5]);
}

/// The scattering of a step whose parameters have the widths of x, y, tx, ty in MeV, and the correlations, at these
/// indices.
template <int x, int y, int tx, int ty, int rho_x, int rho_y, class T, class P>
KERNEL_FUNCTION Noise<T> scattering(const P& p, const T& dz, const T& k) {
  const T across = dz * k;
  return noise_from<T>(width_of<T>(p[x], across), width_of<T>(p[y], across), width_of<T>(p[tx], k),
                       width_of<T>(p[ty], k), p[rho_x], p[rho_y]);
}

/// That of the magnet.
template <class T>
KERNEL_FUNCTION Noise<T> scattering_magnet(const Scalar<T>* p, const T& k) {
  using S = Scalar<T>;
  const T across = single(magnitude(k));
  return noise_from<T>(T(S(1e2) * p[13]) * across, T(S(1e2) * p[16]) * across, width_of<T>(p[12], k),
                       width_of<T>(p[15], k), p[14], p[17]);
}

/// How much a gap turns tx for each mm and each 1/MeV.
template <class T, class P>
KERNEL_FUNCTION T turn_of(const P& p, const T& pol, const T& k, const T& y) {
  using S = Scalar<T>;
  return pol * (T(S(1e-1)) * T(p[4]) + T(S(1e3)) * T(p[5]) * k * k + T(S(1e-7)) * T(p[6]) * y * y);
}

/// Step between UT layers, or to z_in. ∂ty'/∂tx and ∂ty'/∂(q/p) neglect the change of tx'.
template <class T>
KERNEL_FUNCTION void step_ut(const Scalar<T>* p, const T& pol, const T& z1, Track<T>& track, Jacobian<T>& f) {
  using S = Scalar<T>;
  const T one(1);
  State<T>& s = track.s;
  const T dz = z1 - track.z, tx = single(s.tx), ty = single(s.ty), y = single(s.y), k = s.k;
  s.tx += dz * k * turn_of(p, pol, k, s.y);
  f(2, 1) = T(2) * dz * pol * T(S(1e-7) * p[6]) * y * k;
  f(2, 4) = dz * (turn_of(p, pol, k, y) + pol * T(S(2e3) * p[5]) * k * k);
  const T twist = pol * T(p[7]) * side(y);
  s.ty += twist * k * s.tx;
  f(3, 2) = twist * k;
  f(3, 4) = twist * s.tx;
  const T new_x = one - T(p[0]), new_y = one - T(p[2]);
  s.y += dz * (single(T(T(p[2]) * ty)) + new_y * s.ty);
  s.x += dz * (single(T(T(p[0]) * tx)) + new_x * s.tx);
  f(0, 1) = dz * new_x * f(2, 1);
  f(0, 2) = dz;
  f(0, 4) = dz * new_x * f(2, 4);
  f(1, 2) = dz * new_y * f(3, 2);
  f(1, 3) = dz;
  f(1, 4) = dz * new_y * f(3, 4);
  track.z = z1;
}

/// Find the bin as the trigger does: beyond the grid the offset repeats instead of growing.
template <class T>
KERNEL_FUNCTION BinPlace<T> trigger_bin(const T& place, int bins) {
  using S = Scalar<T>;
  const T at = T(S(bins)) * (place + T(1)) * T(S(0.5));
  const T whole = select(at < T(0), T(-round_down(T(-at))), round_down(at));
  // With this order of the two limits even NaN becomes a bin of the grid. Otherwise it could become a wrong address.
  const T nearest = smaller(larger(whole, T(1)), T(S(bins - 2)));
  const T past = select(whole < T(1), T(-1), select(T(S(bins - 2)) < whole, T(1), T(0)));
  const T offset = at - whole - T(S(0.5)) + past;
  const Mask<T> left = offset < T(0);
  return {to_integer(nearest), select(left, Integer<T>(-1), Integer<T>(1)), magnitude(offset),
          select(left, T(-1), T(1)), magnitude(place) > T(1)};
}

/// Return the gain of a component in the magnet, and add its derivatives to a row of the Jacobian. Polynomials continue
/// beyond the momenta of the table, and the derivative with respect to q/p neglects the change of the deviations.
template <class Place, class T, class Kept>
KERNEL_FUNCTION T through_component(const Kept& coefficients, const Deviations<T>& u, const T& by_f, Jacobian<T>& f,
                                    int row) {
  const Component<T> c = component<Place>(coefficients, u.f, T(0));
  f(row, 2) += c.x.value * u.x_tx;
  f(row, 3) += c.y.value * u.x_tx;
  f(row, 4) = by_f * (c.centre.derivative + u.x * c.x.derivative + u.y * c.y.derivative);
  return c.gain(u);
}

/// Step from z_in to z_out, linearised about the q/p of the pattern recognition, `k_seed`. The derivatives of all
/// components gain 2|k|·p18, and otherwise neglect how the correction of q/p in front of the table changes.
template <class T, class Kept>
KERNEL_FUNCTION Integer<T> step_magnet(const Detector<Scalar<T>>& detector, const T& pol, const T& k_seed,
                                       MagnetCoefficients<T, Kept>& m, Track<T>& track, Jacobian<T>& f) {
  using S = Scalar<T>;
  const S* p = detector.constant + layout::UTTF;
  const S* header = detector.constant + layout::UTT_META;
  State<T> s = track.s;
  const T k = k_seed;
  T at_x, at_y;
  table_place<T>(header, s, at_x, at_y);
  const BinPlace<T> bx = trigger_bin<T>(at_x, bin::nx), by = trigger_bin<T>(at_y, bin::ny);
  T w[6];
  bin_weights(bx.distance, by.distance, w);
  m.c.mix(detector.table, bx, by, w);
  const T h = pol * (k + k * T(S(1e-4) * p[18]) + k * magnitude(k) * T(p[19]));
  const Deviations<T> u = deviations<T>(header, h, s);
  const T by_f = pol * T(header[2]), dz(header[1] - header[0]);
  f(0, 2) = f(1, 3) = dz;
  s.x += s.tx * dz + through_component<bin::x>(m.c, u, by_f, f, 0);
  s.y += s.ty * dz + through_component<bin::y>(m.c, u, by_f, f, 1);
  s.tx += through_component<bin::tx>(m.c, u, by_f, f, 2);
  s.ty += through_component<bin::ty>(m.c, u, by_f, f, 3);

  const T all = T(2) * magnitude(k) * T(p[18]);
  const T ty = pol * T(p[0]), y = single(T(pol * T(S(1e2) * p[3])));
  const T tx1 = pol * T(p[6]), tx2 = single(T(T(S(1e5) * p[7]) * k)), tx3 = single(T(pol * T(S(1e8) * p[8]) * k * k));
  const T x1 = single(T(pol * T(S(1e2) * p[9]))), x2 = single(T(T(S(1e5) * p[10]) * k));
  const T x3 = single(T(pol * T(S(1e10) * p[11]) * k * k));
  s.x += k * (x1 + x2 + x3);
  s.y += k * y;
  s.tx += k * (tx1 + tx2 + tx3);
  s.ty += k * ty;
  f(0, 4) += all + x1 + T(2) * x2 + T(3) * x3;
  f(1, 4) += all + y;
  f(2, 4) += all + tx1 + T(2) * tx2 + T(3) * tx3;
  f(3, 4) += all + ty;

  const T moved = track.s.k - k;
  track.s = {s.x + f(0, 4) * moved, s.y + f(1, 4) * moved, s.tx + f(2, 4) * moved, s.ty + f(3, 4) * moved, track.s.k};
  track.z = T(header[1]);
  return flag<T>(bx.outside | by.outside, status::outside_table) |
         flag<T>(magnitude(u.f) > T(S(f_max)), status::low_momentum);
}

/// The z where a straight line meets a plane that leans in y, and its derivatives with respect to y and ty.
template <class T>
struct Meeting {
  T z, z_y, z_ty;
};

/// The plane leans by `dy_dz`, and is at z = `plane` for y = 0.
template <class T>
KERNEL_FUNCTION Meeting<T> meeting(const Track<T>& track, const T& plane, const T& dy_dz) {
  const T per = T(-1) / (track.s.ty - dy_dz);
  const T sum = track.z * track.s.ty - plane * dy_dz - track.s.y;
  return {-sum * per, per, -track.z * per - sum * per * per};
}

/// Step from z_out to the first SciFi layer, as if its z did not depend on the track.
template <class T>
KERNEL_FUNCTION void step_tft(const Scalar<T>* p, const T& pol, const T& z1, Track<T>& track, Jacobian<T>& f) {
  using S = Scalar<T>;
  State<T>& s = track.s;
  const T dz = z1 - track.z, tx = single(s.tx), half(S(0.5)), bent = s.k * dz;
  s.tx += pol * T(p[1]) * bent + pol * T(S(1e4) * p[2]) * bent * bent * bent;
  f(2, 4) = pol * dz * (T(p[1]) + T(S(3e4) * p[2]) * bent * bent);
  s.x += ((T(1) - T(p[3])) * s.tx + single(T(T(p[3]) * tx))) * dz;
  f(0, 4) = (T(1) - T(p[3])) * dz * f(2, 4);
  s.y += s.ty * half * dz;
  s.ty += T(p[0]) * bent * bent;
  s.y += s.ty * half * dz;
  f(0, 2) = f(1, 3) = dz;
  f(3, 4) = T(2) * T(p[0]) * bent * dz;
  f(1, 4) = half * dz * f(3, 4);
  track.z = z1;
}

/// Step between SciFi layers. The change of z' with y and ty enters only the rows of x and tx.
template <class T, class P>
KERNEL_FUNCTION void step_t(const P& p, const T& pol, const Meeting<T>& end, Track<T>& track, Jacobian<T>& f) {
  using S = Scalar<T>;
  const T one(1);
  State<T>& s = track.s;
  const T dz = end.z - track.z, tx = single(s.tx), ty = single(s.ty), y = single(s.y), k = s.k;
  const T focus = single(T(T(p[7]) * k)), new_x = one - T(p[0]), new_y = one - T(p[2]);
  s.tx += dz * k * turn_of(p, pol, k, s.y);
  s.ty += focus * k * s.y;
  f(3, 1) = focus * k;
  f(3, 4) = T(2) * focus * s.y;
  s.y += dz * (single(T(T(p[2]) * ty)) + new_y * s.ty);
  f(1, 1) += dz * new_y * f(3, 1);
  f(1, 3) = dz;
  f(1, 4) = dz * new_y * f(3, 4);
  const T tx_z = k * turn_of(p, pol, k, s.y);
  f(2, 1) = T(2) * dz * pol * T(S(1e-7)) * T(p[6]) * y * k + tx_z * end.z_y;
  f(2, 3) = tx_z * end.z_ty;
  f(2, 4) = dz * (turn_of(p, pol, k, y) + pol * T(S(2e3)) * T(p[5]) * k * k);
  const T x_z = single(T(T(p[0]) * tx)) + new_x * s.tx;
  s.x += dz * x_z;
  f(0, 1) = dz * new_x * f(2, 1) + x_z * end.z_y;
  f(0, 2) = dz;
  f(0, 3) = dz * new_x * f(2, 3) + x_z * end.z_ty;
  f(0, 4) = dz * new_x * f(2, 4);
  track.z = end.z;
}

}  // namespace parkf::kalman::PARKF_FORMS::trigger
