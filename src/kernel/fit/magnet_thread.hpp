#pragma once
// The magnet table read for the track of one GPU thread.

#include "fit/magnet.hpp"

namespace parkf::kalman::PARKF_FORMS {

/// The coefficients of each thread, which reads the table for itself. They are in memory that the block shares, since the
/// fit needs the registers.
template <class S, int threads>
struct ThreadCoefficients {
  static constexpr int room = bin::count * threads;

  S* sums;  // `room` numbers
  int thread;

  KERNEL_FUNCTION const S& operator[](int i) const { return sums[i * threads + thread]; }

  KERNEL_FUNCTION void mix(const float* table, const BinPlace<S>& x, const BinPlace<S>& y, const S* w) {
    const float* rows[6];
    bin_rows(table, x, y, rows);
    KERNEL_ONE_BY_ONE for (int i = 0; i < bin::count; i += bin_piece) {
      S sum[bin_piece];
      mix_piece(rows, w, i, sum);
      for (int j = 0; j < bin_piece; ++j) sums[(i + j) * threads + thread] = sum[j];
    }
  }
};

}  // namespace parkf::kalman::PARKF_FORMS
