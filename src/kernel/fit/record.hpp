#pragma once
// A record of the forward filter, for passes backward. The array does not fit into a GPU's registers.

#include "fit/downstream.hpp"

namespace parkf::kalman::PARKF_FORMS {

/// The columns tx and ty of a Jacobian, with rows x, y, tx, ty. Its columns x and y are those of the identity.
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

/// A measured coordinate: its covariance with the state, and its residual.
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

/// The parts of a step's noise that describe a single kick there.
template <class T>
struct Kicks {
  T xtx, txtx, yty, tyty;
};

/// Records the forward filter behind the VELO.
template <class T>
struct StripsRecord : AsTheyAre<T> {
  static constexpr int steps_behind = ut_layers + 2 + scifi_layers, strips = ut_layers + scifi_layers;

  Levers<T> levers[steps_behind];
  StripRecord<T> hits[strips];
  Kicks<T> kicks[strips];
  int steps = 0, strip = 0;

  KERNEL_FUNCTION void begin(const Integer<T>&, const FirstState<T>&) {}
  KERNEL_FUNCTION void velo(int, const JacobianV<T>&, const Innovation<T>&, const Innovation<T>&, const T*) {}
  KERNEL_FUNCTION void end_of_velo() {}
  KERNEL_FUNCTION Noise<T> scattering(int slot, const Noise<T>& q) {
    if (slot >= ut_slots) kicks[slot - ut_slots] = {q.xtx, q.txtx, q.yty, q.tyty};
    return q;
  }
  template <class Jacobian>
  KERNEL_FUNCTION void step(const Jacobian& f) {
    levers[steps++] = Levers<T>(f);
  }
  KERNEL_FUNCTION void hit(const Innovation<T>& u, const T& slope, const T* p, const Parabola<T>&) {
    StripRecord<T>& r = hits[strip++];
    r.set(u, p[0], p[1], p[2], p[3]);
    r.slope = slope;
  }
  /// Change the whole record to another q/p.
  KERNEL_FUNCTION void move(const T& change) {
    for (int i = 0; i < strip; ++i) hits[i].move(change);
  }
};

/// Records the forward filter in the VELO, too.
template <class T>
struct Record : StripsRecord<T> {
  const Filter<T>& fit;
  PixelRecord<T> pixels[velo_slots];
  // Covariances with the state at the second hit of the start: of x and y at the first hit and at the second hit.
  T start[4][4];
  Integer<T> second;
  int pixels_end = 2;

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
  KERNEL_FUNCTION void move(const T& change) {
    for (int slot = 2; slot < pixels_end; ++slot) {
      pixels[slot].x.move(change);
      pixels[slot].y.move(change);
    }
    StripsRecord<T>::move(change);
  }
};

/// Record the filter from the last VELO hit on. The record is at the best q/p; return the variance of this q/p.
template <class T, class Recorded>
KERNEL_FUNCTION T record_behind_velo(const Candidates<Scalar<T>>& tracks, long i, const Detector<Scalar<T>>& detector,
                                     const T& pol, Filter<T>& fit, Recorded& record) {
  forward_ut(tracks, i, detector.constant, pol, fit, record);
  MagnetCoefficients<T> m;
  forward_magnet<true>(tracks, i, detector, pol, m, fit, record);
  forward_scifi(tracks, i, detector.constant, pol, fit, record);
  const Parabola<T> known = fit.known();
  move(known.best(), fit, record);
  return T(1) / known.weight;
}

/// Fit the tracks from number `i` on that run together, and record the fit. A Record also reads `fit`.
template <class T, class Recorded>
KERNEL_FUNCTION T fit_recorded(const Candidates<Scalar<T>>& tracks, long i, const Detector<Scalar<T>>& detector,
                               const T& pol, Filter<T>& fit, Recorded& record) {
  FirstState<T> first;
  T z_first;
  forward_velo(tracks, i, detector, pol, fit, first, z_first, record);
  record.end_of_velo();
  return record_behind_velo(tracks, i, detector, pol, fit, record);
}

}  // namespace parkf::kalman::PARKF_FORMS
