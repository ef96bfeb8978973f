#pragma once
// What the files for GPUs have in common: the type of their numbers, the constants, and arguments of their kernels.
// PARKF_REAL is defined, and PARKF_THREADS as the number of threads of a block.

#include "fit/track.hpp"

using Real = PARKF_REAL;
using Rows = parkf::kalman::CandidateRows<Real>;

namespace forms = parkf::kalman::PARKF_FORMS;

__constant__ Real parkf_constant[forms::layout::count];

// Rows of hits start at multiples of 16 bytes, as does the table.
#define PARKF_CANDIDATES                                                                                             \
  long count, const Real *polarity, const Real *qop, const int *velo_n, const Real *velo_x, const Real *velo_y,      \
      const Real *velo_z, const Real *ut_x, const Real *ut_z, const Real *ut_dxdy, const Real *ut_sigma,             \
      const Real *scifi_x, const Real *scifi_z, const Real *scifi_dxdy, const Real *scifi_sigma

#define PARKF_ROWS                                                                           \
  Rows {                                                                                     \
    count, polarity, qop, velo_n, {velo_x, velo_y, velo_z}, {ut_x, ut_z, ut_dxdy, ut_sigma}, \
        {scifi_x, scifi_z, scifi_dxdy, scifi_sigma}                                          \
  }

#define PARKF_DETECTOR_AND_RESULTS                                                                             \
  const float *table, Real velo_variance, Real beam_x, Real beam_y, Real velo_loss, Real foil, Real *numbers, \
      int *integers

#define PARKF_DETECTOR \
  parkf::kalman::Detector<Real> { parkf_constant, table, velo_variance, beam_x, beam_y, velo_loss, foil }

/// The number of this thread in the whole grid of blocks.
__device__ __forceinline__ long thread_number() {
  return static_cast<long>(blockIdx.x) * PARKF_THREADS + static_cast<long>(threadIdx.x);
}
