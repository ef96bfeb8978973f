#pragma once
// The fit at every plane, not at the first alone (fixed-interval smoothing), for what is asked for now and then: which
// hit agrees least with all the others, and the states at the RICH detectors.
//
// The filter runs forward once more and writes down what it does. Then, backward, ρ and N, gradient and curvature of
// the χ² of all later hits, say what those have to add: x + C·ρ and C − C·N·C are state and covariance that know all
// hits. A hit's own residual against all others, u² = w²/D, comes out on the way. All of that is at the q/p of the fit;
// a second ρ, of the residuals' derivatives, adds what q/p may be off. The array of what was written down does not fit
// into a GPU's registers: this part is for the CPU.

#include "fit/beamline.hpp"
#include "fit/downstream.hpp"
#include "fit/interval_layout.hpp"

namespace parkf::kalman::PARKF_FORMS {

/// Columns of a Jacobian for tx and ty, with rows x, y, tx, ty; the columns of x and y are the identity's.
template <class T>
struct Levers {
  T to[2][4];

  Levers() = default;
  template <class Jacobian>
  KERNEL_FUNCTION explicit Levers(const Jacobian& f) {
    for (int column = 0; column < 2; ++column) {
      T* v = to[column];
      for (int row = 0; row < 4; ++row) v[row] = T(row == 2 + column ? 1 : 0);
      apply(f, v);
    }
  }
};

/// A measured coordinate: covariance of the state with it, and what it said.
template <class T>
struct Measured {
  T p[4], pull, by_k, weight;

  KERNEL_FUNCTION void set(const Innovation<T>& u, const T& p0, const T& p1, const T& p2, const T& p3) {
    p[0] = p0;
    p[1] = p1;
    p[2] = p2;
    p[3] = p3;
    pull = u.pull;
    by_k = u.by_k;
    weight = u.weight;
  }
  KERNEL_FUNCTION void move(const T& change) { pull -= by_k * change; }
};

template <class T>
struct StripRecord : Measured<T> {
  T slope;
};

template <class T>
struct PixelRecord {
  JacobianV<T> f;
  Measured<T> x, y;
};

/// Writes down what the forward filter does.
template <class T>
struct Record {
  static constexpr int steps_behind = ut_layers + 2 + scifi_layers, strips = ut_layers + scifi_layers;

  const Filter<T>& fit;
  PixelRecord<T> pixels[velo_slots];
  Levers<T> levers[steps_behind];
  StripRecord<T> hits[strips];
  Conditional<T> last_velo, first_ut;
  T last_velo_z, first_ut_z;
  // Covariances of x and y at the first and the second hit of the start with the state at the second.
  T start[4][4];
  Integer<T> second;
  int pixels_end = 2, steps = 0, strip = 0;

  KERNEL_FUNCTION explicit Record(const Filter<T>& filter) : fit(filter) {}

  KERNEL_FUNCTION void begin(const Integer<T>& used, const FirstState<T>& first) {
    second = used;
    for (int j = 0; j < 4; ++j) {
      start[0][j] = first.cross[0][j];
      start[1][j] = first.cross[1][j];
      start[2][j] = fit.c(0, j);
      start[3][j] = fit.c(1, j);
    }
  }
  KERNEL_FUNCTION void velo(int slot, const JacobianV<T>& f, const Innovation<T>& ux, const Innovation<T>& uy,
                            const T* p) {
    const T zero(0);
    PixelRecord<T>& r = pixels[slot];
    r.f = f;
    r.x.set(ux, p[0], zero, p[2], zero);
    r.y.set(uy, zero, p[1], zero, p[3]);
    pixels_end = slot + 1;
  }
  template <class Jacobian>
  KERNEL_FUNCTION void step(const Jacobian& f) {
    levers[steps++] = Levers<T>(f);
  }
  KERNEL_FUNCTION void hit(const Innovation<T>& u, const T& slope, const T* p) {
    if (strip == 0) {
      first_ut = fit;
      first_ut_z = fit.z;
    }
    StripRecord<T>& r = hits[strip++];
    r.set(u, p[0], p[1], p[2], p[3]);
    r.slope = slope;
  }
  KERNEL_FUNCTION void end_of_velo() {
    last_velo = fit;
    last_velo_z = fit.z;
  }
  /// All that has been written down, for another q/p.
  KERNEL_FUNCTION void move(const T& change) {
    for (int slot = 2; slot < pixels_end; ++slot) {
      pixels[slot].x.move(change);
      pixels[slot].y.move(change);
    }
    for (int i = 0; i < strip; ++i) hits[i].move(change);
    last_velo.move(change);
    first_ut.move(change);
  }
};

/// What later hits have to add to a filtered state, and the hit that agrees least with all others.
template <class T>
struct Later {
  T qop_variance;
  T rho[4], by_k[4];  // of the residuals, and of what they lose for 1/MeV
  Covariance<T> n;
  T worst;  // u²
  Integer<T> worst_slot;

  KERNEL_FUNCTION explicit Later(const T& qop_variance) : qop_variance(qop_variance), worst(T(0)), worst_slot(-1) {
    for (int j = 0; j < 4; ++j) rho[j] = by_k[j] = T(0);
    for (T& e : n.elements) e = T(0);
  }

  /// w²/D of a hit; `slope`: what w loses for 1/MeV.
  KERNEL_FUNCTION void compare(const Integer<T>& slot, const T& w, const T& d, const T& slope) {
    const T zero(0), left = d - slope * slope * qop_variance;
    const T u2 = select(left > zero, w * w / left, zero);
    const Mask<T> worse = worst < u2;
    worst = select(worse, u2, worst);
    worst_slot = select(worse, slot, worst_slot);
  }

  /// Back over a hit of component M - slope·O.
  template <int M, int O>
  KERNEL_FUNCTION void hit(int slot, const Measured<T>& r, const T& slope) {
    T nk[4], w = r.pull, w_by_k = r.by_k, d = r.weight;
    for (int j = 0; j < 4; ++j) {
      nk[j] = n(j, 0) * r.p[0];
      for (int l = 1; l < 4; ++l) nk[j] += n(j, l) * r.p[l];
      nk[j] = nk[j] * r.weight;
    }
    for (int j = 0; j < 4; ++j) {
      const T gain = r.p[j] * r.weight;
      w -= gain * rho[j];
      w_by_k -= gain * by_k[j];
      d += gain * nk[j];
    }
    compare(Integer<T>(slot), w, d, w_by_k);
    rho[M] += w;
    rho[O] -= slope * w;
    by_k[M] += w_by_k;
    by_k[O] -= slope * w_by_k;
    for (int j = 2; j < 4; ++j) {
      n(M, j) -= nk[j];
      n(O, j) += slope * nk[j];
    }
    n(O, M) += slope * (nk[M] - d) - nk[O];
    n(M, M) += d - (nk[M] + nk[M]);
    n(O, O) += slope * (nk[O] + nk[O] + slope * d);
  }

  /// Back over a step.
  KERNEL_FUNCTION void step(const Levers<T>& f) {
    T half[4][2];  // N·F, columns tx, ty
    for (int i = 0; i < 4; ++i) {
      for (int c = 0; c < 2; ++c) half[i][c] = product(n(i, 0), n(i, 1), n(i, 2), n(i, 3), f.to[c]);
    }
    T carried[2], carried_by_k[2];
    for (int c = 0; c < 2; ++c) {
      carried[c] = product(rho[0], rho[1], rho[2], rho[3], f.to[c]);
      carried_by_k[c] = product(by_k[0], by_k[1], by_k[2], by_k[3], f.to[c]);
    }
    for (int c = 0; c < 2; ++c) {
      rho[2 + c] = carried[c];
      by_k[2 + c] = carried_by_k[c];
      n(2 + c, 0) = half[0][c];
      n(2 + c, 1) = half[1][c];
      for (int b = 0; b <= c; ++b) n(2 + c, 2 + b) = product(half[0][c], half[1][c], half[2][c], half[3][c], f.to[b]);
    }
  }

  /// One of the two hits of the start, which passes through both: `row` is its covariance with the state.
  KERNEL_FUNCTION void start(const Integer<T>& slot, const T* row) {
    T w(0), w_by_k(0), d(0);
    for (int j = 0; j < 4; ++j) {
      w += row[j] * rho[j];
      w_by_k += row[j] * by_k[j];
      d += row[j] * product(n(j, 0), n(j, 1), n(j, 2), n(j, 3), row);
    }
    compare(slot, w, d, w_by_k);
  }

  /// A filtered state with what all later hits add.
  KERNEL_FUNCTION Conditional<T> smoothed(const Conditional<T>& filtered) const {
    Conditional<T> result = filtered;
    const Covariance<T>& c = filtered.c;
    T* const components[4] = {&result.state.x, &result.state.y, &result.state.tx, &result.state.ty};
    for (int i = 0; i < 4; ++i) {
      T row[4];  // of C·N
      for (int j = 0; j < 4; ++j) {
        *components[i] += c(i, j) * rho[j];
        result.by_k[i] -= c(i, j) * by_k[j];
        const T column[4] = {n(0, j), n(1, j), n(2, j), n(3, j)};
        row[j] = product(c(i, 0), c(i, 1), c(i, 2), c(i, 3), column);
      }
      for (int j = 0; j <= i; ++j) {
        for (int l = 0; l < 4; ++l) result.c(i, j) -= row[l] * c(l, j);
      }
    }
    return result;
  }

 private:
  KERNEL_FUNCTION static T product(const T& a, const T& b, const T& c, const T& d, const T* v) {
    return a * v[0] + b * v[1] + c * v[2] + d * v[3];
  }
};

/// State at a plane with the covariance of x, y, tx, ty, whatever q/p.
template <class T>
struct PlaneState {
  State<T> s;
  Covariance<T> c;
};

/// The hit that agrees least with the others, and states at the RICH planes.
template <class T>
struct Interval {
  T worst;  // u² of x or y, of all other hits
  PlaneState<T> planes[rich_planes];
  Integer<T> worst_slot;  // VELO slots, then UT and SciFi layers; -1: none can be told
};

/// Backward over `record`, whose q/p is the fit's, known to `qop_variance`.
///
/// Before the magnet, states go from the last VELO hit by the VELO's form and from the first UT layer by that of the
/// gap behind it, without the scattering in between; behind it, straight on from the last SciFi layer.
template <class T>
KERNEL_FUNCTION Interval<T> backward(const Record<T>& record, const Detector<Scalar<T>>& detector, const T& pol,
                                     const T& qop_variance, bool planes) {
  using S = Scalar<T>;
  const S* constant = detector.constant;
  const Filter<T>& end = record.fit;
  Interval<T> result;
  const auto z_of = [](int plane) { return T(static_cast<S>(rich_z[plane])); };
  // The state has been carried there; `f` is the step's Jacobian.
  const auto publish = [&](int plane, Conditional<T>& there, const auto& f) {
    transport(f, there.c);
    total_derivative(f, there.by_k);
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j <= i; ++j) there.c(i, j) += there.by_k[i] * there.by_k[j] * qop_variance;
    }
    result.planes[plane] = {there.state, there.c};
  };
  if (planes) {
    const T lean(layer_lean(constant + layout::TLayer + scifi_layers - 1));
    for (int plane = 2; plane < rich_planes; ++plane) {
      Conditional<T> there = end;
      const T dz = z_of(plane) - (end.z + lean * there.state.y);
      const JacobianBEAM<T> straight{dz, dz};
      there.state.x += dz * there.state.tx;
      there.state.y += dz * there.state.ty;
      publish(plane, there, straight);
    }
  }
  Later<T> later(qop_variance);
  int step = record.steps;
  for (int strip = record.strips - 1; strip >= 0; --strip) {
    if (strip == 0 && planes) {
      Conditional<T> there = later.smoothed(record.first_ut);
      JacobianUT<T> f;
      step_UT<T>(constant + layout::UT, pol, record.first_ut_z, z_of(1), there.state, f);
      publish(1, there, f);
    }
    const StripRecord<T>& r = record.hits[strip];
    later.template hit<0, 1>(velo_slots + strip, r, r.slope);
    later.step(record.levers[--step]);
    if (strip == ut_layers) {  // through the magnet and back to the last UT layer
      later.step(record.levers[--step]);
      later.step(record.levers[--step]);
    }
  }
  if (planes) {
    Conditional<T> there = later.smoothed(record.last_velo);
    JacobianV<T> f;
    step_V<T>(constant + layout::V, pol, record.last_velo_z, z_of(0), there.state, f);
    publish(0, there, f);
  }
  const T straight(0);
  for (int slot = record.pixels_end - 1; slot >= 2; --slot) {
    const PixelRecord<T>& r = record.pixels[slot];
    later.template hit<1, 0>(slot, r.y, straight);
    later.template hit<0, 1>(slot, r.x, straight);
    later.step(Levers<T>(r.f));
  }
  for (int hit = 0; hit < 4; ++hit) {
    later.start(hit < 2 ? Integer<T>(0) : record.second, record.start[hit]);
  }
  result.worst = later.worst;
  result.worst_slot = later.worst_slot;
  return result;
}

/// For the tracks from number `i` on that run together. `planes`: states there are wanted.
template <class T>
KERNEL_FUNCTION Interval<T> fit_interval(const Candidates<Scalar<T>>& tracks, long i,
                                         const Detector<Scalar<T>>& detector, bool planes) {
  const T pol = load<T>(tracks.polarity + i);
  Filter<T> fit;
  FirstState<T> first;
  T z_first;
  Record<T> record(fit);
  forward_velo(tracks, i, detector, pol, fit, first, z_first, record);
  record.end_of_velo();
  forward_ut(tracks, i, detector.constant, pol, fit, record);
  MagnetCoefficients<T> m;
  forward_magnet<true>(tracks, i, detector, pol, m, fit, record);
  forward_scifi(tracks, i, detector.constant, pol, fit, record);
  const Parabola<T> known = fit.known();
  move(known.best(), fit, record);
  return backward(record, detector, pol, T(1) / known.weight, planes);
}

/// Write the tracks that run together to (quantity, track) arrays at track `i`; planes only where wanted.
template <bool past_caches = false, class T>
KERNEL_FUNCTION void store_interval(const Interval<T>& track, bool planes, long stride, long i, Scalar<T>* numbers,
                                    int* integers) {
  store<past_caches>(track.worst, numbers + i);
  store_integer<T, past_caches>(track.worst_slot, integers + i);
  if (!planes) return;
  Scalar<T>* row = numbers + stride + i;
  for (const PlaneState<T>& plane : track.planes) {
    const T state[4] = {plane.s.x, plane.s.y, plane.s.tx, plane.s.ty};
    for (int q = 0; q < plane_numbers; ++q, row += stride) {
      store<past_caches>(q < 4 ? state[q] : plane.c.elements[q - 4], row);
    }
  }
}

}  // namespace parkf::kalman::PARKF_FORMS
