// The fit on a GPU, with one track in each thread. It is compiled at run time as one flattened source.

#include "fit/magnet_block.hpp"
#include "fit/shared_tile.hpp"
#include "fit/smoother.hpp"
#include "fit/trigger.hpp"
#include "fit/gpu_arguments.hpp"

constexpr int threads = PARKF_THREADS;
using Front = parkf::kalman::SharedFront<Real, threads>;
using Behind = parkf::kalman::SharedBehind<Real, threads>;
using Coefficients = forms::BlockCoefficients<Real, threads>;
using Detector = parkf::kalman::Detector<Real>;

/// What the threads of a block need of the magnet's table.
struct Magnet {
  Real sums[Coefficients::room];
  forms::BinOrder<Real> orders[threads];
  // Results of the VELO, which only the end of the fit needs. They free registers, and take the place of VELO hits.
  struct {
    Real z_first;
    int ndof, status;
  } velo[threads];
};
static_assert(sizeof(Magnet) - sizeof(Magnet::velo) >= sizeof(Front::ut), "UT hits are still needed");

/// The tracks of this block.
struct Block {
  const Rows& rows;
  const long begin = static_cast<long>(blockIdx.x) * threads, left = rows.count - begin;
  const int thread = static_cast<int>(threadIdx.x), tracks = left < threads ? static_cast<int>(left) : threads;
  // Threads without a track fit the last one again: the block reads the magnet's table together.
  const int i = thread < tracks ? thread : tracks - 1;

  template <class Hits>
  __device__ __forceinline__ void fill(Hits& hits) const {
    __syncthreads();
    hits.fill(rows, begin, tracks, thread);
    __syncthreads();
  }
  __device__ __forceinline__ void store(const parkf::kalman::Fitted<Real>& track, Real* numbers, int* integers) const {
    if (thread < tracks) parkf::kalman::store(track, rows.count, begin + i, numbers, integers);
  }
};

__device__ __forceinline__ parkf::kalman::Fitted<Real> smoothed(const Block& block, const Detector& detector) {
  // Nothing is needed longer than until the next takes its place, and less memory lets more blocks run at a time.
  __shared__ union {
    Front front;
    Magnet magnet;
    Behind behind;
  } shared;
  const auto tracks = parkf::kalman::shared_candidates(block.rows, block.begin, shared.front, shared.behind);
  const int i = block.i;
  const Real pol = tracks.polarity[i];
  Real z_first;
  forms::Filter<Real> fit;
  forms::FirstStateMemory<Real> memory;
  block.fill(shared.front);
  forms::forward_velo(tracks, i, detector, pol, fit, memory.first, z_first, memory);
  __syncthreads();
  auto& velo = shared.magnet.velo[block.thread];
  velo = {z_first, fit.ndof_velo, fit.status};
  fit.status = 0;
  forms::forward_ut(tracks, i, detector.constant, pol, fit, memory);
  // The magnet needs the first SciFi hit alone, from its row.
  forms::MagnetCoefficients<Real, Coefficients> m;
  m.c = {shared.magnet.sums, shared.magnet.orders, block.thread};
  __syncthreads();
  forms::forward_magnet<true>(block.rows.one(block.begin + i), 0, detector, pol, m, fit, memory);
  z_first = velo.z_first;
  fit.ndof_velo = velo.ndof;
  fit.status |= velo.status;
  block.fill(shared.behind);
  return forms::fit_behind_magnet(tracks, i, detector, pol, z_first, fit, memory);
}

/// The trigger's fit goes back through the hits before the magnet, so that all stay.
__device__ __forceinline__ parkf::kalman::Fitted<Real> fitted_by_trigger(const Block& block, const Detector& detector) {
  // In double precision there is no room for the magnet, and each thread keeps its own coefficients.
  constexpr bool own = sizeof(Real) > sizeof(float);
  __shared__ struct {
    Front front;
    Behind behind;
  } hits;
  block.fill(hits.front);
  block.fill(hits.behind);
  const auto tracks = parkf::kalman::shared_candidates(block.rows, block.begin, hits.front, hits.behind);
  if constexpr (own) {
    return forms::fit_trigger<Real>(tracks, block.i, detector);
  } else {
    __shared__ Magnet magnet;
    forms::MagnetCoefficients<Real, Coefficients> m;
    m.c = {magnet.sums, magnet.orders, block.thread};
    return forms::fit_trigger<Real>(tracks, block.i, detector, m);
  }
}

/// Blocks that a multiprocessor holds at a time: in float32 each thread has 128 registers, in float64 255.
constexpr int blocks = sizeof(Real) == sizeof(float) ? 16 : 8;

extern "C" __global__ void __launch_bounds__(PARKF_THREADS, blocks)
    fit_smoother(PARKF_CANDIDATES, PARKF_DETECTOR_AND_RESULTS) {
  const Rows rows = PARKF_ROWS;
  const Block block{rows};
  block.store(smoothed(block, PARKF_DETECTOR), numbers, integers);
}

extern "C" __global__ void __launch_bounds__(PARKF_THREADS) fit_trigger(PARKF_CANDIDATES, PARKF_DETECTOR_AND_RESULTS) {
  const Rows rows = PARKF_ROWS;
  const Block block{rows};
  block.store(fitted_by_trigger(block, PARKF_DETECTOR), numbers, integers);
}
