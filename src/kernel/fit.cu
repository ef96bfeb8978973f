// The fit on a GPU, one track a thread. Compiled at run time as one flattened source with PARKF_REAL defined.

#include "forward_backward.hpp"
#include "smoother.hpp"

using Real = PARKF_REAL;

namespace forms = parkf::kalman::PARKF_FORMS;

__constant__ Real parkf_constant[forms::layout::count];

template <bool Smoother>
__device__ __forceinline__ void fit_track(long count, parkf::kalman::Candidates<Real> tracks, const float* table,
                                          Real velo_variance, Real beam_x, Real beam_y, Real* numbers,
                                          int* integers) {
  const long i = static_cast<long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const parkf::kalman::Detector<Real> detector{parkf_constant, table, velo_variance, beam_x, beam_y};
  if constexpr (Smoother) {
    parkf::kalman::store(forms::fit_smoother<Real>(tracks, i, detector), tracks.stride, i, numbers, integers);
  } else {
    parkf::kalman::store(forms::fit_forward_backward<Real>(tracks, i, detector), tracks.stride, i, numbers, integers);
  }
}

// Hits as (quantity, slot, track) blocks: x, y, z of the VELO; x, z, dxdy, sigma of UT and SciFi.
#define PARKF_ARGUMENTS                                                                                           \
  long count, long stride, const Real *polarity, const Real *qop, const int *velo_n, const Real *velo,            \
      const Real *ut, const Real *scifi, const float *table, Real velo_variance, Real beam_x, Real beam_y,         \
      Real *numbers, int *integers

#define PARKF_CANDIDATES                                                                                          \
  parkf::kalman::Candidates<Real> {                                                                                       \
    stride, polarity, qop, velo_n, velo, velo + parkf::kalman::velo_slots * stride, velo + 2 * parkf::kalman::velo_slots * stride, \
        ut, ut + parkf::kalman::ut_layers * stride, ut + 2 * parkf::kalman::ut_layers * stride, ut + 3 * parkf::kalman::ut_layers * stride, \
        scifi, scifi + parkf::kalman::scifi_layers * stride, scifi + 2 * parkf::kalman::scifi_layers * stride,                     \
        scifi + 3 * parkf::kalman::scifi_layers * stride                                                                  \
  }

extern "C" __global__ void __launch_bounds__(128) fit_smoother(PARKF_ARGUMENTS) {
  fit_track<true>(count, PARKF_CANDIDATES, table, velo_variance, beam_x, beam_y, numbers, integers);
}

extern "C" __global__ void __launch_bounds__(128) fit_forward_backward(PARKF_ARGUMENTS) {
  fit_track<false>(count, PARKF_CANDIDATES, table, velo_variance, beam_x, beam_y, numbers, integers);
}
