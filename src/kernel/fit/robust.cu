// What the robust fit does after the plain fit on a GPU, with one track in each thread, and only for tracks that may be
// treated. It is compiled at run time as one flattened source.
//
// The record of a track lies in its thread's own memory, and hits and bins of the magnet table are read in place, because
// one track in four comes here, from anywhere in the batch.

#include "fit/magnet_thread.hpp"
#include "fit/robust_track.hpp"
#include "fit/gpu_arguments.hpp"

using Coefficients = forms::ThreadCoefficients<Real, PARKF_THREADS>;

/// Blocks that a multiprocessor holds at a time: in float32 each thread has 168 registers, in float64 255.
constexpr int blocks = sizeof(Real) == sizeof(float) ? 12 : 8;

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
  const long i = thread_number();
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
extern "C" __global__ void __launch_bounds__(PARKF_THREADS, blocks)
    fit_robust(long chosen, const long* which, PARKF_CANDIDATES, PARKF_DETECTOR_AND_RESULTS) {
  using namespace parkf::kalman;
  const long at = thread_number();
  if (at >= chosen) return;
  const long i = which[at];
  __shared__ Real sums[Coefficients::room];
  forms::MagnetCoefficients<Real, Coefficients> m;
  m.c = {sums, static_cast<int>(threadIdx.x)};
  const Fitted<Real> plain = read_fitted(count, i, numbers, integers);
  int* more = integers + (fitted_integers + 1) * count + i;
  // As its χ², the far hits of the plain fit stay noted: another fit may leave them out or follow them.
  const int far = plain.status & status::far_hit;
  const auto keep = [&](Fitted<Real> track, int done, int slot) {
    track.status = (track.status & ~status::far_hit) | far;
    store(track, count, i, numbers, integers);
    more[0] = done;
    more[count] = slot;
  };
  forms::fit_robust(PARKF_ROWS.one(i), 0, PARKF_DETECTOR, robust::view(plain), m, keep);
}
