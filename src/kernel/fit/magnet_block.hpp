#pragma once
// The magnet table read for the tracks of a GPU block together.

#include "fit/magnet.hpp"

namespace parkf::kalman::PARKF_FORMS {

/// Wait until all threads of the block have reached this point.
KERNEL_FUNCTION void wait_for_block() {
#if !defined(__CUDACC__) || defined(__CUDA_ARCH__)  // nvcc compiles all of this for the host, too
  __syncthreads();
#endif
}

/// The bins and weights that one track needs from the table.
template <class S>
struct BinOrder {
  S w[6];
  int nearest, step_x, step_y;
};

/// The coefficients of a block's tracks, in memory that its threads share, since the fit needs the registers. All
/// threads take part in every sum, so that neighbouring threads read a bin in one piece. If each thread read for its
/// own track, every four numbers would come from a separate cache line.
template <class S, int threads>
struct BlockCoefficients {
  // One more than the number of threads, so that threads that write neighbouring coefficients use different banks of
  // memory.
  static constexpr int stride = threads + 1;
  static constexpr int room = bin::count * stride;

  S* sums;              // `room` numbers; free when all threads have reached the call of mix
  BinOrder<S>* orders;  // of all threads
  int thread;

  KERNEL_FUNCTION const S& operator[](int i) const { return sums[i * stride + thread]; }

  KERNEL_FUNCTION void mix(const float* table, const BinPlace<S>& x, const BinPlace<S>& y, const S* w) {
    constexpr int pieces = bin::count / bin_piece;
    orders[thread] = {{w[0], w[1], w[2], w[3], w[4], w[5]}, (x.nearest * bin::ny + y.nearest) * bin::count,
                      x.direction * bin::ny * bin::count, y.direction * bin::count};
    wait_for_block();
    for (int i = thread; i < threads * pieces; i += threads) {
      const int track = i / pieces, first = (i - track * pieces) * bin_piece;
      const BinOrder<S>& order = orders[track];
      const float* nearest = table + order.nearest + first;
      S sum[bin_piece] = {};
      KERNEL_UNROLLED for (int n = 0; n < 6; ++n) {
        float row[bin_piece];
        load_together<bin_piece>(nearest + neighbour_x(n) * order.step_x + neighbour_y(n) * order.step_y, row);
        for (int j = 0; j < bin_piece; ++j) sum[j] += order.w[n] * S(row[j]);
      }
      for (int j = 0; j < bin_piece; ++j) sums[(first + j) * stride + track] = sum[j];
    }
    wait_for_block();
  }
};

}  // namespace parkf::kalman::PARKF_FORMS
