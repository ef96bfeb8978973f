// The fit of kinds of tracks besides long ones on a GPU, with one track in each thread. It is compiled at run time as one
// flattened source. Hits are read in place, because each kind has the hits of some detectors only.

#include "fit/fit_kind.hpp"
#include "fit/gpu_arguments.hpp"

/// Blocks that a multiprocessor holds at a time: in float32 each thread has 168 registers, in float64 255.
constexpr int blocks = sizeof(Real) == sizeof(float) ? 12 : 8;

/// Fit tracks of the kind that has hits in these detectors. `loss` and the slices are those of the set.
extern "C" __global__ void __launch_bounds__(PARKF_THREADS, blocks)
    fit_kind(bool velo, bool ut, bool scifi, Real loss, const float* slices, int slice_count, double first,
             double length, double edge_x, double edge_y, const double* centre, int scatterers,
             const parkf::slices::Scatterer* scatterer, PARKF_CANDIDATES, PARKF_DETECTOR_AND_RESULTS) {
  const long i = thread_number();
  if (i >= count) return;
  const parkf::kalman::Kind kind{"", "", velo, ut, scifi};
  const parkf::slices::Slices inside{slice_count, first, length, edge_x, edge_y, centre, slices, scatterers, scatterer};
  const auto fitted = forms::fit_kind<Real>(kind, PARKF_ROWS.one(i), 0, PARKF_DETECTOR, inside, loss);
  forms::store(kind, fitted, count, i, numbers, integers);
}
