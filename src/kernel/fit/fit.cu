// The fit on a GPU, with one track in each thread. It is compiled at run time as one flattened source.

#include "fit/magnet_block.hpp"
#include "fit/shared_tile.hpp"
#include "fit/smoother.hpp"
#include "fit/trigger.hpp"
#include "fit/gpu_arguments.hpp"

template <bool Smoother>
__device__ __forceinline__ void fit_track(const Rows& rows, const parkf::kalman::Detector<Real>& detector,
                                          Real* numbers, int* integers) {
  constexpr int threads = PARKF_THREADS;
  using Tile = parkf::kalman::SharedTile<Real, threads>;
  using Coefficients = forms::BlockCoefficients<Real, threads>;
  // Behind the UT the smoother no longer needs VELO and UT hits, and the coefficients take their place. The trigger's
  // fit goes back through these hits. In double precision there is no room for both, and each thread keeps its own
  // coefficients.
  static_assert(Coefficients::room <= Tile::scifi, "there is no room for the magnet's coefficients");
  constexpr bool own = !Smoother && sizeof(Real) > sizeof(float);
  constexpr int room = Smoother || own ? 0 : Coefficients::room;
  __shared__ Real shared[room + Tile::numbers];
  __shared__ forms::BinOrder<Real> orders[threads];

  const long begin = static_cast<long>(blockIdx.x) * threads, left = rows.count - begin;
  const int thread = static_cast<int>(threadIdx.x), tracks = left < threads ? static_cast<int>(left) : threads;
  const Tile tile{shared + room};
  tile.fill(rows, begin, tracks, thread);
  __syncthreads();
  // Threads without a track fit the last one again: the block reads the magnet's table together.
  const int i = thread < tracks ? thread : tracks - 1;
  const parkf::kalman::Candidates<Real> candidates = tile.candidates(rows, begin);
  forms::MagnetCoefficients<Real, Coefficients> m;
  m.c = {shared, orders, thread};
  parkf::kalman::Fitted<Real> track;
  if constexpr (Smoother) track = forms::fit_smoother<Real>(candidates, i, detector, m);
  else if constexpr (own) track = forms::fit_trigger<Real>(candidates, i, detector);
  else track = forms::fit_trigger<Real>(candidates, i, detector, m);
  if (thread < tracks) parkf::kalman::store(track, rows.count, begin + i, numbers, integers);
}

extern "C" __global__ void __launch_bounds__(PARKF_THREADS)
    fit_smoother(PARKF_CANDIDATES, PARKF_DETECTOR_AND_RESULTS) {
  fit_track<true>(PARKF_ROWS, PARKF_DETECTOR, numbers, integers);
}

extern "C" __global__ void __launch_bounds__(PARKF_THREADS) fit_trigger(PARKF_CANDIDATES, PARKF_DETECTOR_AND_RESULTS) {
  fit_track<false>(PARKF_ROWS, PARKF_DETECTOR, numbers, integers);
}
