#pragma once
// A record of the forward filter, for passes backward. The array does not fit into a GPU's registers.

#include "fit/downstream.hpp"

namespace parkf::kalman::PARKF_FORMS {

/// What covariances see of a step between two planes: the lever arms of tx and ty.
template <class T>
struct Drift {
  T x_tx, y_ty;
};

/// Columns of the magnet's Jacobian for tx and ty, with rows x, y, tx, ty; the columns of x and y are the identity's.
template <class T>
struct Levers {
  T to[2][4];

  Levers() = default;
  KERNEL_FUNCTION explicit Levers(const JacobianMagnet<T>& f) {
    for (int column = 0; column < 2; ++column) {
      T* v = to[column];
      for (int row = 0; row < 4; ++row) v[row] = T(row == 2 + column ? 1 : 0);
      apply(f, v);
    }
  }
};

/// A measured strip x - slope·y: its residual, and the gains of y, tx and ty from it.
template <class T>
struct StripRecord {
  T gain[3], pull, by_k, weight, shrink, slope;

  KERNEL_FUNCTION void move(const T& change) { pull -= by_k * change; }
  /// The row's product with L = (shrink, -gain), in coordinates x - slope·y, y, tx, ty.
  KERNEL_FUNCTION T times_l(const T& a, const T& b, const T& c, const T& d) const {
    return shrink * a - gain[0] * b - gain[1] * c - gain[2] * d;
  }
};

/// A measured x or y of a VELO hit: the covariance of this coordinate and of its slope with it, and its residual. In the
/// VELO neither the other coordinate nor, in y, q/p matters.
template <class T>
struct PixelRecord {
  T place, slope, pull, weight;
};

/// Records the forward filter behind the VELO.
template <class T>
struct StripsRecord : AsTheyAre<T> {
  static constexpr int strips = ut_layers + scifi_layers;

  Drift<T> drifts[strips + 1];  // to each UT layer, to where the magnet begins, and to each SciFi layer
  T bend;                       // the factor on tx of the first of these steps
  Levers<T> magnet;
  StripRecord<T> hits[strips];
  int drift = 0, strip = 0;

  KERNEL_FUNCTION void begin(const Integer<T>&, const FirstState<T>&) {}
  KERNEL_FUNCTION void velo(int, const JacobianV<T>&, const Innovation<T>&, const Innovation<T>&, const T*) {}
  template <class Jacobian>
  KERNEL_FUNCTION void step(const Jacobian& f) {
    drifts[drift++] = {f.x_tx, f.y_ty};
  }
  KERNEL_FUNCTION void step(const JacobianVUT<T>& f) {
    bend = f.tx_tx;
    drifts[drift++] = {f.x_tx, f.y_ty};
  }
  KERNEL_FUNCTION void step(const JacobianMagnet<T>& f) { magnet = Levers<T>(f); }
  KERNEL_FUNCTION void hit(const Innovation<T>& u, const T& slope, const T* p, const Parabola<T>&) {
    hits[strip++] = {{p[1] * u.weight, p[2] * u.weight, p[3] * u.weight}, u.pull, u.by_k, u.weight, u.shrink, slope};
  }
  /// Change the whole record to another q/p.
  KERNEL_FUNCTION void move(const T& change) {
    for (int i = 0; i < strip; ++i) hits[i].move(change);
  }
};

/// The strip up to which a HalfwayRecord carries x and tx of the first state along: the second SciFi layer's.
constexpr int halfway = ut_layers + 1;

/// Carries the first state along, too: in the VELO, and x and tx to the first SciFi hits. From there on, `Later` adds what
/// all hits behind say of it. If it did so earlier, the variance of tx would be the small difference of large numbers: at
/// given q/p, the SciFi measures the slope of a straight track thousands of times better than the VELO does.
template <class T>
struct HalfwayRecord : StripsRecord<T> {
  FirstState<T> first;

  KERNEL_FUNCTION void velo(int, const JacobianV<T>& f, const Innovation<T>& ux, const Innovation<T>& uy, const T* p) {
    update_first_velo(f, ux, uy, p, first);
  }
  template <class Jacobian>
  KERNEL_FUNCTION void step(const Jacobian& f) {
    if (this->strip <= halfway) {
      apply(f, first.cross[0]);
      apply(f, first.cross[2]);
    }
    StripsRecord<T>::step(f);
  }
  KERNEL_FUNCTION void hit(const Innovation<T>& u, const T& slope, const T* p, const Parabola<T>& hits) {
    if (this->strip <= halfway) update_first_x(u, slope, p, first);
    StripsRecord<T>::hit(u, slope, p, hits);
  }
  KERNEL_FUNCTION void move(const T& change) {
    first.move(change);
    StripsRecord<T>::move(change);
  }
};

/// Writes down what the filter does in the VELO, too.
template <class T>
struct Record : HalfwayRecord<T> {
  Integer<T> second;  // slot of the start's second hit
  T variance, lever;  // covariances of x of this hit with x and tx there; the same in y
  Drift<T> steps[velo_slots];
  PixelRecord<T> x[velo_slots], y[velo_slots];
  T by_k[velo_slots];  // of the pulls of x
  int end = 2;

  KERNEL_FUNCTION void begin(const Integer<T>& used, const FirstState<T>& start) {
    second = used;
    variance = start.xx;
    lever = -start.xtx;
  }
  KERNEL_FUNCTION void velo(int slot, const JacobianV<T>& f, const Innovation<T>& ux, const Innovation<T>& uy,
                            const T* p) {
    HalfwayRecord<T>::velo(slot, f, ux, uy, p);
    steps[slot] = {f.x_tx, f.y_ty};
    x[slot] = {p[0], p[2], ux.pull, ux.weight};
    y[slot] = {p[1], p[3], uy.pull, uy.weight};
    by_k[slot] = ux.by_k;
    end = slot + 1;
  }
  KERNEL_FUNCTION void move(const T& change) {
    for (int slot = 2; slot < end; ++slot) x[slot].pull -= by_k[slot] * change;
    HalfwayRecord<T>::move(change);
  }
};

/// Record the filter from the last VELO hit on; `m` is where the magnet's coefficients are kept meanwhile. The record is
/// at the best q/p; return the variance of this q/p.
template <class T, class Recorded, class Kept>
KERNEL_FUNCTION T record_behind_velo(const Candidates<Scalar<T>>& tracks, long i, const Detector<Scalar<T>>& detector,
                                     const T& pol, Filter<T>& fit, Recorded& record, MagnetCoefficients<T, Kept>& m) {
  forward_ut(tracks, i, detector.constant, pol, fit, record);
  forward_magnet<true>(tracks, i, detector, pol, m, fit, record);
  forward_scifi(tracks, i, detector.constant, pol, fit, record);
  const Parabola<T> known = fit.known();
  move(known.best(), fit, record);
  return T(1) / known.weight;
}

template <class T, class Recorded>
KERNEL_FUNCTION T record_behind_velo(const Candidates<Scalar<T>>& tracks, long i, const Detector<Scalar<T>>& detector,
                                     const T& pol, Filter<T>& fit, Recorded& record) {
  MagnetCoefficients<T> m;
  return record_behind_velo(tracks, i, detector, pol, fit, record, m);
}

}  // namespace parkf::kalman::PARKF_FORMS
