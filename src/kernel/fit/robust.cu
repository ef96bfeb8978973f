// What the robust fit does after the plain fit on a GPU, with one track in each thread, and only for tracks that may be
// treated. It is compiled at run time as one flattened source with PARKF_REAL defined.
//
// The record of a track lies in its thread's own memory, and its hits are read in place, because one track in four
// comes here, from anywhere in the batch.

#include "fit/robust_track.hpp"

using Real = PARKF_REAL;

namespace forms = parkf::kalman::PARKF_FORMS;

__constant__ Real parkf_constant[forms::layout::count];

/// Read a fitted track from (quantity, track) arrays. Later rows have the results of the robust fit.
__device__ __forceinline__ parkf::kalman::Fitted<Real> read_fitted(long count, long i, const Real* numbers,
                                                                   const int* integers) {
  Real n[parkf::kalman::fitted_numbers];
  int m[parkf::kalman::fitted_integers];
  KERNEL_UNROLLED for (int q = 0; q < parkf::kalman::fitted_numbers; ++q) n[q] = numbers[q * count + i];
  KERNEL_UNROLLED for (int q = 0; q < parkf::kalman::fitted_integers; ++q) m[q] = integers[q * count + i];
  return {n[0],  n[1],  n[2],  n[3],  n[4],  n[5],  n[6], n[7], n[8], n[9],
          n[10], n[11], n[12], n[13], n[14], n[15], m[0], m[1], m[2], m[3]};
}

/// Keep the χ² and ndof of the plain fit, and mark the tracks that may be treated.
extern "C" __global__ void choose_robust(long count, Real* numbers, int* integers, bool* chosen) {
  const long i = static_cast<long>(blockIdx.x) * PARKF_THREADS + static_cast<long>(threadIdx.x);
  if (i >= count) return;
  const parkf::kalman::Fitted<Real> track = read_fitted(count, i, numbers, integers);
  Real* before = numbers + parkf::kalman::fitted_numbers * count + i;
  before[0] = track.chi2_velo;
  before[count] = track.chi2_ut;
  before[2 * count] = track.chi2_scifi;
  int* more = integers + parkf::kalman::fitted_integers * count + i;
  more[0] = track.ndof_ut;
  more[count] = 0;
  more[2 * count] = -1;
  const auto fit = parkf::kalman::robust::view(track);
  chosen[i] = fit.doubts_ut() || fit.may_be_kicked();
}

/// Fit the tracks with the numbers `which`. Hits are rows of slots, as for the plain fit.
extern "C" __global__ void __launch_bounds__(PARKF_THREADS)
    fit_robust(long chosen, const long* which, long count, const Real* polarity, const Real* qop, const int* velo_n,
               const Real* velo_x, const Real* velo_y, const Real* velo_z, const Real* ut_x, const Real* ut_z,
               const Real* ut_dxdy, const Real* ut_sigma, const Real* scifi_x, const Real* scifi_z,
               const Real* scifi_dxdy, const Real* scifi_sigma, const float* table, Real velo_variance, Real beam_x,
               Real beam_y, Real velo_loss, Real foil, Real* numbers, int* integers) {
  using namespace parkf::kalman;
  const long at = static_cast<long>(blockIdx.x) * PARKF_THREADS + static_cast<long>(threadIdx.x);
  if (at >= chosen) return;
  const long i = which[at], v = i * velo_slots, u = i * ut_layers, s = i * scifi_layers;
  // One track's rows are arrays of (slot, track) with one track.
  const Candidates<Real> candidates{1,           polarity + i, qop + i,       velo_n + i,   velo_x + v,
                                    velo_y + v,  velo_z + v,   ut_x + u,      ut_z + u,     ut_dxdy + u,
                                    ut_sigma + u, scifi_x + s, scifi_z + s,   scifi_dxdy + s, scifi_sigma + s};
  const Detector<Real> detector{parkf_constant, table, velo_variance, beam_x, beam_y, velo_loss, foil};
  Fitted<Real> track = read_fitted(count, i, numbers, integers);
  int done, slot;
  forms::fit_robust(candidates, 0, detector, track, done, slot);
  store(track, count, i, numbers, integers);
  int* more = integers + (fitted_integers + 1) * count + i;
  more[0] = done;
  more[count] = slot;
}
