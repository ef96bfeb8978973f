#pragma once
// The smoother's fit, with every hit compared with all others, the smoothed states at the hits, and what the residuals say
// of the scattering in each step. If wanted, with the covariances between hits. This part is for the CPU.

#include "fit/later.hpp"
#include "fit/residuals_layout.hpp"
#include "fit/smoother.hpp"

namespace parkf::kalman {

namespace PARKF_FORMS {

/// Also records the filter behind each hit, and the noise of each step.
template <class T>
struct ResidualsRecord : Record<T> {
  const Filter<T>& fit;
  Conditional<T> filtered[all_slots];
  Noise<T> noise[all_slots];

  KERNEL_FUNCTION explicit ResidualsRecord(const Filter<T>& fit) : fit(fit) {}
  KERNEL_FUNCTION void begin(const Integer<T>& used, const FirstState<T>& start) {
    Record<T>::begin(used, start);
    filtered[1] = fit;
  }
  KERNEL_FUNCTION Noise<T> scattering(int slot, const Noise<T>& q) { return noise[slot] = q; }
  KERNEL_FUNCTION void velo(int slot, const JacobianV<T>& f, const Innovation<T>& ux, const Innovation<T>& uy,
                            const T* p) {
    Record<T>::velo(slot, f, ux, uy, p);
    filtered[slot] = fit;
  }
  KERNEL_FUNCTION void hit(const Innovation<T>& u, const T& slope, const T* p, const Parabola<T>& hits) {
    filtered[ut_slots + this->strip] = fit;
    Record<T>::hit(u, slope, p, hits);
  }
  KERNEL_FUNCTION void move(const T& change) {
    for (int slot = 1; slot < this->end; ++slot) filtered[slot].move(change);
    for (int strip = 0; strip < this->strip; ++strip) filtered[ut_slots + strip].move(change);
    Record<T>::move(change);
  }
};

/// Keeps the comparison of every hit; with `pairs`, (pair, stride), writes the covariances between hits there.
template <class T>
struct EveryHit {
  Compared<T> hits[coordinates];
  Scalar<T>* pairs = nullptr;
  long stride = 0;
  Adjoint<T> columns[coordinates];
  int numbers[coordinates];  // of the coordinates that have a column
  int count = 0;

  KERNEL_FUNCTION EveryHit() {
    for (Compared<T>& hit : hits) hit = {T(0), T(0), T(0)};
  }
  template <class Column, class Back>
  KERNEL_FUNCTION void see(int axis, int slot, const Compared<T>& hit, const T&, const Column& column, const Back& back) {
    const int number = slot < velo_slots ? axis * velo_slots + slot : velo_slots + slot;
    hits[number] = hit;
    if (pairs == nullptr) return;
    for (int i = 0; i < count; ++i) {
      const int a = number < numbers[i] ? numbers[i] : number, b = number < numbers[i] ? number : numbers[i];
      store(back(columns[i]), pairs + (a * (a - 1) / 2 + b) * stride);
    }
    columns[count] = column();
    numbers[count++] = number;
  }
  template <class Back>
  KERNEL_FUNCTION void step(const Back& back) {
    for (int i = 0; i < count; ++i) back(columns[i]);
  }
};

/// What residuals say of the noise of a step, which their covariance has with a factor f² = 1: half of `seen` − `expected`
/// is the derivative of the log likelihood with respect to f².
template <class T>
struct Scattering {
  T seen, expected;
};

template <class T>
KERNEL_FUNCTION Scattering<T> scattering(const Noise<T>& q, const Later<T, EveryHit<T>>& later) {
  const auto form = [&q](const T& xx, const T& xtx, const T& txtx, const T& yy, const T& yty, const T& tyty) {
    return q.xx * xx + q.xtx * (xtx + xtx) + q.txtx * txtx + q.yy * yy + q.yty * (yty + yty) + q.tyty * tyty;
  };
  const auto square = [&form](const Adjoint<T>& v) {
    return form(v[0] * v[0], v[0] * v[2], v[2] * v[2], v[1] * v[1], v[1] * v[3], v[3] * v[3]);
  };
  const Covariance<T>& n = later.n;
  return {square(later.rho), form(n(0, 0), n(2, 0), n(2, 2), n(1, 1), n(3, 1), n(3, 3)) -
                                 square(later.by_k) * later.qop_variance};
}

/// Fit the tracks from number `i` on that run together. Rows of results are written to `rows`, (row, stride), which begins
/// at these tracks. With `covariances`, the rows of the noise and of V⁻¹ follow.
template <class T>
KERNEL_FUNCTION Fitted<T> fit_residuals(const Candidates<Scalar<T>>& tracks, long i, const Detector<Scalar<T>>& detector,
                                        long stride, Scalar<T>* rows, bool covariances) {
  const T pol = load<T>(tracks.polarity + i), zero(0);
  Filter<T> fit;
  ResidualsRecord<T> record(fit);
  T z_first;
  forward_velo(tracks, i, detector, pol, fit, record.first, z_first, record);
  const T qop_variance = record_behind_velo(tracks, i, detector, pol, fit, record);
  Later<T, EveryHit<T>> later(qop_variance);
  if (covariances) {
    Scalar<T>* const more = rows + residual_numbers * stride;
    for (int row = 0; row < covariance_rows; ++row) store(zero, more + row * stride);
    later.seen.pairs = more + noise_rows * stride;
    later.seen.stride = stride;
  }
  State<T> states[all_slots];
  Scattering<T> steps[all_slots];
  for (int slot = 0; slot < velo_slots; ++slot) {
    states[slot] = {zero, zero, zero, zero, zero};
    steps[slot] = {zero, zero};
  }
  const auto look = [&](int slot) { states[slot] = later.smoothed_state(record.filtered[slot]); };
  const auto look_before = [&](int slot) { steps[slot] = scattering(record.noise[slot], later); };
  for (int strip = record.strips - 1; strip >= 0; --strip) {
    if (strip == halfway) later.improve_x(record.first);
    look(ut_slots + strip);
    later.strip(record, strip, [&] { look_before(ut_slots + strip); });
  }
  later.improve_y(record.first);
  later.velo(record, look, look_before);
  const auto& first = record.first.state;
  states[0] = {first[0], first[1], first[2], first[3], zero};

  // Tracks that run together take all steps in the VELO that one of them takes.
  for (int slot = 0; slot < velo_slots; ++slot) {
    const Mask<T> there = zero < later.seen.hits[slot].d;
    for (T* one : {&states[slot].x, &states[slot].y, &states[slot].tx, &states[slot].ty}) *one = select(there, *one, zero);
  }
  const auto put = [&](const T& value) {
    store(value, rows);
    rows += stride;
  };
  for (const Compared<T>& hit : later.seen.hits) put(hit.w);
  for (const Compared<T>& hit : later.seen.hits) put(hit.d);
  for (const Compared<T>& hit : later.seen.hits) put(hit.by_k);
  for (const State<T>& s : states) put(s.x), put(s.y), put(s.tx), put(s.ty);
  for (const Scattering<T>& one : steps) put(one.seen), put(one.expected);
  if (covariances) {
    const auto put_noise = [&](int slot) {
      const Noise<T>& q = record.noise[slot];
      const T values[6] = {q.xx, q.xtx, q.txtx, q.yy, q.yty, q.tyty};
      for (int n = 0; n < 6; ++n) store(values[n], rows + (6 * slot + n) * stride);
    };
    for (int slot = 2; slot < record.end; ++slot) put_noise(slot);
    for (int slot = ut_slots; slot < all_slots; ++slot) put_noise(slot);
  }
  return publish(detector, pol, z_first, record.first, fit, qop_variance);
}

}  // namespace PARKF_FORMS
}  // namespace parkf::kalman
