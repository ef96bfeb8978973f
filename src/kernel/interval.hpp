#pragma once
// The fit at every plane, not at the first alone (fixed-interval smoothing), for what is asked for now and then: which
// hit agrees least with all the others, and the states at the RICH detectors.
//
// The filter runs forward once more and writes down what it does. Then, backward, ρ and N, gradient and curvature of
// the χ² of all later hits, say what those have to add: x + C·ρ and C − C·N·C are state and covariance that know all
// hits. A hit's own residual against all others, u² = w²/D, comes out on the way. The array of what was written down
// does not fit into a GPU's registers: this part is for the CPU.

#include "beamline.hpp"
#include "downstream.hpp"
#include "interval_layout.hpp"

namespace parkf::kalman::PARKF_FORMS {

/// State at a plane with the covariance of x, y, tx, ty.
template <class T>
struct PlaneState {
  State<T> s;
  Covariance<T> c;
};

/// Columns of a Jacobian for tx, ty and k, with rows x, y, tx, ty; the columns of x and y are the identity's.
template <class T>
struct Levers {
  T to[3][4];

  Levers() = default;
  template <class Jacobian>
  KERNEL_FUNCTION explicit Levers(const Jacobian& f) {
    for (int column = 0; column < 3; ++column) {
      T v[5] = {T(0), T(0), T(0), T(0), T(0)};
      v[2 + column] = T(1);
      apply(f, v);
      for (int row = 0; row < 4; ++row) to[column][row] = v[row];
    }
  }
};

template <class T>
struct StripRecord {
  T p[5], pull, weight, slope;
};

/// x and y of a VELO hit: p[0], p[2], p[4] are of the update with x, p[1], p[3] of the one with y.
template <class T>
struct PixelRecord {
  JacobianV<T> f;
  T p[5], x_pull, x_weight, y_pull, y_weight;
};

/// Writes down what the forward filter does.
template <class T>
struct Record {
  static constexpr int steps_behind = ut_layers + 2 + scifi_layers, strips = ut_layers + scifi_layers;

  const Filter<T>& fit;
  PixelRecord<T> pixels[velo_slots];
  Levers<T> levers[steps_behind];
  StripRecord<T> hits[strips];
  PlaneState<T> first_ut;
  T first_ut_z;
  // Covariances of x and y at the first and the second hit of the start with the state at the second.
  T start[4][5];
  Integer<T> second;
  int pixels_end = 2, steps = 0, strip = 0;

  KERNEL_FUNCTION explicit Record(const Filter<T>& filter) : fit(filter) {}

  KERNEL_FUNCTION void begin(const Integer<T>& used, const FirstState<T>& first) {
    second = used;
    for (int j = 0; j < 5; ++j) {
      start[0][j] = first.cross[0][j];
      start[1][j] = first.cross[1][j];
      start[2][j] = fit.c(0, j);
      start[3][j] = fit.c(1, j);
    }
  }
  KERNEL_FUNCTION void velo(int slot, const JacobianV<T>& f, const Innovation<T>& ux, const Innovation<T>& uy,
                            const T* p) {
    PixelRecord<T>& r = pixels[slot];
    r.f = f;
    for (int j = 0; j < 5; ++j) r.p[j] = p[j];
    r.x_pull = ux.pull;
    r.x_weight = ux.weight;
    r.y_pull = uy.pull;
    r.y_weight = uy.weight;
    pixels_end = slot + 1;
  }
  template <class Jacobian>
  KERNEL_FUNCTION void step(const Jacobian& f) {
    levers[steps++] = Levers<T>(f);
  }
  KERNEL_FUNCTION void hit(const Innovation<T>& u, const T& slope, const T* p) {
    if (strip == 0) {
      first_ut = {fit.state, fit.c};
      first_ut_z = fit.z;
    }
    StripRecord<T>& r = hits[strip++];
    for (int j = 0; j < 5; ++j) r.p[j] = p[j];
    r.pull = u.pull;
    r.weight = u.weight;
    r.slope = slope;
  }
};

/// What later hits have to add to a filtered state, and the hit that agrees least with all others.
template <class T>
struct Later {
  T rho[5];
  Covariance<T> n;
  T worst;  // u²
  Integer<T> worst_slot;

  KERNEL_FUNCTION Later() : worst(T(0)), worst_slot(-1) {
    for (T& r : rho) r = T(0);
    for (T& e : n.elements) e = T(0);
  }

  KERNEL_FUNCTION void compare(const Integer<T>& slot, const T& w, const T& d) {
    const T zero(0);
    const T u2 = select(d > zero, w * w / d, zero);
    const Mask<T> worse = worst < u2;
    worst = select(worse, u2, worst);
    worst_slot = select(worse, slot, worst_slot);
  }

  /// Back over a hit of component M - slope·O.
  template <int M, int O>
  KERNEL_FUNCTION void hit(int slot, const T* p, const T& pull, const T& weight, const T& slope) {
    T nk[5], w = pull, d = weight;
    for (int j = 0; j < 5; ++j) {
      nk[j] = n(j, 0) * p[0];
      for (int l = 1; l < 5; ++l) nk[j] += n(j, l) * p[l];
      nk[j] = nk[j] * weight;
    }
    for (int j = 0; j < 5; ++j) {
      w -= p[j] * weight * rho[j];
      d += p[j] * weight * nk[j];
    }
    compare(Integer<T>(slot), w, d);
    rho[M] += w;
    rho[O] -= slope * w;
    for (int j = 0; j < 5; ++j) {
      if (j == M || j == O) continue;
      n(M, j) -= nk[j];
      n(O, j) += slope * nk[j];
    }
    n(O, M) += slope * (nk[M] - d) - nk[O];
    n(M, M) += d - (nk[M] + nk[M]);
    n(O, O) += slope * (nk[O] + nk[O] + slope * d);
  }

  /// Back over a step.
  KERNEL_FUNCTION void step(const Levers<T>& f) {
    T half[5][3];  // N·F, columns tx, ty, k
    for (int i = 0; i < 5; ++i) {
      for (int c = 0; c < 3; ++c) {
        half[i][c] = n(i, 0) * f.to[c][0];
        for (int j = 1; j < 4; ++j) half[i][c] += n(i, j) * f.to[c][j];
      }
      half[i][2] += n(i, 4);
    }
    T carried[3];
    for (int c = 0; c < 3; ++c) {
      carried[c] = rho[0] * f.to[c][0];
      for (int i = 1; i < 4; ++i) carried[c] += rho[i] * f.to[c][i];
    }
    carried[2] += rho[4];
    for (int c = 0; c < 3; ++c) {
      rho[2 + c] = carried[c];
      n(2 + c, 0) = half[0][c];
      n(2 + c, 1) = half[1][c];
      for (int b = 0; b <= c; ++b) {
        T sum = f.to[b][0] * half[0][c];
        for (int i = 1; i < 4; ++i) sum += f.to[b][i] * half[i][c];
        n(2 + c, 2 + b) = b == 2 ? sum + half[4][c] : sum;
      }
    }
  }

  /// One of the two hits of the start, which passes through both: `row` is its covariance with the state.
  KERNEL_FUNCTION void start(const Integer<T>& slot, const T* row) {
    T w(0), d(0);
    for (int j = 0; j < 5; ++j) {
      w += row[j] * rho[j];
      T sum = n(j, 0) * row[0];
      for (int l = 1; l < 5; ++l) sum += n(j, l) * row[l];
      d += row[j] * sum;
    }
    compare(slot, w, d);
  }

  /// A filtered state with what all later hits add.
  KERNEL_FUNCTION PlaneState<T> smoothed(const PlaneState<T>& filtered) const {
    PlaneState<T> result = filtered;
    const Covariance<T>& c = filtered.c;
    T* const components[5] = {&result.s.x, &result.s.y, &result.s.tx, &result.s.ty, &result.s.k};
    for (int i = 0; i < 5; ++i) {
      for (int j = 0; j < 5; ++j) *components[i] += c(i, j) * rho[j];
    }
    for (int i = 0; i < 5; ++i) {
      T row[5];  // of C·N
      for (int j = 0; j < 5; ++j) {
        row[j] = c(i, 0) * n(0, j);
        for (int l = 1; l < 5; ++l) row[j] += c(i, l) * n(l, j);
      }
      for (int j = 0; j <= i; ++j) {
        for (int l = 0; l < 5; ++l) result.c(i, j) -= row[l] * c(l, j);
      }
    }
    return result;
  }
};

/// The hit that agrees least with the others, and states at the RICH planes.
template <class T>
struct Interval {
  T worst;  // u² of x or y, of all other hits
  PlaneState<T> planes[rich_planes];
  Integer<T> worst_slot;  // VELO slots, then UT and SciFi layers; -1: none can be told
};

/// Backward over `record`; `behind_velo` is the filtered state at the last VELO hit.
///
/// Before the magnet, states go from the last VELO hit by the VELO's form and from the first UT layer by that of the
/// gap behind it, without the scattering in between; behind it, straight on from the last SciFi layer.
template <class T>
KERNEL_FUNCTION Interval<T> backward(const Record<T>& record, const Filter<T>& behind_velo,
                                     const Detector<Scalar<T>>& detector, const T& pol, bool planes) {
  using S = Scalar<T>;
  const S* constant = detector.constant;
  const Filter<T>& end = record.fit;
  Interval<T> result;
  const auto z_of = [](int plane) { return T(static_cast<S>(rich_z[plane])); };
  if (planes) {
    const T lean(layer_lean(constant + layout::TLayer + scifi_layers - 1));
    for (int plane = 2; plane < rich_planes; ++plane) {
      PlaneState<T> there{end.state, end.c};
      const T dz = z_of(plane) - (end.z + lean * there.s.y);
      const JacobianBEAM<T> straight{dz, dz};
      there.s.x += dz * there.s.tx;
      there.s.y += dz * there.s.ty;
      transport(straight, there.c);
      result.planes[plane] = there;
    }
  }
  Later<T> later;
  int step = record.steps;
  for (int strip = record.strips - 1; strip >= 0; --strip) {
    if (strip == 0 && planes) {
      PlaneState<T>& there = result.planes[1];
      there = later.smoothed(record.first_ut);
      JacobianUT<T> f;
      step_UT<T>(constant + layout::UT, pol, record.first_ut_z, z_of(1), there.s, f);
      transport(f, there.c);
    }
    const StripRecord<T>& r = record.hits[strip];
    later.template hit<0, 1>(velo_slots + strip, r.p, r.pull, r.weight, r.slope);
    later.step(record.levers[--step]);
    if (strip == ut_layers) {  // through the magnet and back to the last UT layer
      later.step(record.levers[--step]);
      later.step(record.levers[--step]);
    }
  }
  if (planes) {
    PlaneState<T>& there = result.planes[0];
    there = later.smoothed({behind_velo.state, behind_velo.c});
    JacobianV<T> f;
    step_V<T>(constant + layout::V, pol, behind_velo.z, z_of(0), there.s, f);
    transport(f, there.c);
  }
  const T zero(0);
  for (int slot = record.pixels_end - 1; slot >= 2; --slot) {
    const PixelRecord<T>& r = record.pixels[slot];
    const T y[5] = {zero, r.p[1], zero, r.p[3], zero}, x[5] = {r.p[0], zero, r.p[2], zero, r.p[4]};
    later.template hit<1, 0>(slot, y, r.y_pull, r.y_weight, zero);
    later.template hit<0, 1>(slot, x, r.x_pull, r.x_weight, zero);
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
  fit.reference = load<T>(tracks.qop + i);
  Record<T> record(fit);
  forward_velo(tracks, i, detector, pol, fit, first, z_first, record);
  const Filter<T> behind_velo = fit;
  forward_ut(tracks, i, detector.constant, pol, fit, record);
  forward_magnet<true>(tracks, i, detector, pol, fit, record);
  forward_scifi(tracks, i, detector.constant, pol, fit, record);
  return backward(record, behind_velo, detector, pol, planes);
}

/// Write the tracks that run together to (quantity, track) arrays at track `i`; planes only where wanted.
template <class T>
KERNEL_FUNCTION void store_interval(const Interval<T>& track, bool planes, long stride, long i, Scalar<T>* numbers,
                                    int* integers) {
  store(track.worst, numbers + i);
  store_integer<T>(track.worst_slot, integers + i);
  if (!planes) return;
  Scalar<T>* row = numbers + stride + i;
  for (const PlaneState<T>& plane : track.planes) {
    const T state[4] = {plane.s.x, plane.s.y, plane.s.tx, plane.s.ty};
    for (int q = 0; q < plane_numbers; ++q, row += stride) store(q < 4 ? state[q] : plane.c.elements[q - 4], row);
  }
}

}  // namespace parkf::kalman::PARKF_FORMS
