#pragma once
// Writes fitted tracks to the rows of a batch.

#include <limits>

#include "full_fit/batch.hpp"
#include "full_fit/filter.hpp"
#include "full_fit/inputs.hpp"

namespace parkf::full_fit {

KERNEL_FUNCTION void store_track(const Batch& batch, const double* numbers, const double* hits,
                                 bool alive, int velo_n, long row) {
  const long stride = batch.tracks.count;
  const kalman::Kind& kind = *batch.kind;
  for (int q = 0; q < all_numbers; ++q) batch.numbers[q * stride + row] = numbers[q];
  const int velo = static_cast<int>(hits[0]), ut = static_cast<int>(hits[1]), scifi = static_cast<int>(hits[2]);
  bool good = alive, positive = true;
  for (int q = 1; q <= 5; ++q) good = good && finite(numbers[q]);
  for (const int q : {6, 8, 9, 11, 12}) positive = positive && numbers[q] > 0.0;
  using namespace kalman;
  int status = wrong_inputs(batch.way, batch.tracks, row);
  if (!good) status |= status::non_finite;
  if (good && !positive) status |= status::negative_variance;
  if (kind.velo && velo_n < 2) status |= status::few_velo_hits;
  if (kind.scifi && scifi == 0) status |= status::no_scifi_hit;
  // Position, direction and q/p cost five degrees of freedom, in the order of the filter.
  int left = kind.velo ? 1 : 5, ndof[2] = {ut, scifi};
  for (int& one : ndof) {
    const int cost = one < left ? one : left;
    one -= cost;
    left -= cost;
  }
  if (!kind.velo && left > 0) status |= status::few_hits;
  const int integers[fitted_integers] = {velo > 4 ? velo - 4 : 0, ndof[0], ndof[1], status};
  for (int q = 0; q < fitted_integers; ++q) batch.integers[q * stride + row] = integers[q];
}

/// Store the tracks begin, begin + 1, …, as far as there are tracks before `end`.
template <class T>
KERNEL_FUNCTION void store(const Fitted<T>& fitted, const Tracks<T>& tracks, const Batch& batch, long begin,
                           long end) {
  const Estimate<T>& e = fitted.estimate;
  const T lost = select(fitted.alive, T(0.0), T(std::numeric_limits<double>::quiet_NaN()));
  const T numbers[all_numbers] = {e.z,
                                  e.state[X] + lost,
                                  e.state[Y] + lost,
                                  e.state[TX] + lost,
                                  e.state[TY] + lost,
                                  e.state[QOP] + lost,
                                  e.c(X, X) + lost,
                                  e.c(X, TX) + lost,
                                  e.c(TX, TX) + lost,
                                  e.c(Y, Y) + lost,
                                  e.c(Y, TY) + lost,
                                  e.c(TY, TY) + lost,
                                  e.c(QOP, QOP) + lost,
                                     fitted.chi2[0],
                                     fitted.chi2[1],
                                     fitted.chi2[2],
                                  e.c(X, Y) + lost,
                                  e.c(Y, TX) + lost,
                                  e.c(X, TY) + lost,
                                  e.c(TX, TY) + lost,
                                  e.c(X, QOP) + lost,
                                  e.c(Y, QOP) + lost,
                                  e.c(TX, QOP) + lost,
                                  e.c(TY, QOP) + lost};
  alignas(64) double columns[all_numbers + parts + 1][Number<T>::lanes];
  for (int q = 0; q < all_numbers; ++q) __builtin_memcpy(columns[q], &numbers[q], sizeof(T));
  for (int part = 0; part < parts; ++part)
    __builtin_memcpy(columns[all_numbers + part], &fitted.hits[part], sizeof(T));
  const T alive = select(fitted.alive, T(1.0), T(0.0));
  __builtin_memcpy(columns[all_numbers + parts], &alive, sizeof(T));
  for (int lane = 0; lane < Number<T>::lanes && begin + lane < end; ++lane) {
    double track[all_numbers], hits[parts];
    for (int q = 0; q < all_numbers; ++q) track[q] = columns[q][lane];
    for (int part = 0; part < parts; ++part) hits[part] = columns[all_numbers + part][lane];
    store_track(batch, track, hits, columns[all_numbers + parts][lane] > 0.0,
                static_cast<int>(tracks.velo_n.lane[lane]), begin + lane);
  }
}

}  // namespace parkf::full_fit
