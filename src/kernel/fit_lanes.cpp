// Compiled once for every set of forms and instruction set: the generated headers name the former, PARKF_BUILD the
// latter, and PARKF_LANE_BYTES is its vector width (0: one track at a time). Nothing with external linkage but the Build may come out of this file.

#include "fit_batch.hpp"
#include "forward_backward.hpp"
#include "lanes.hpp"
#include "smoother.hpp"

namespace parkf::kalman::PARKF_FORMS {
namespace {

#if PARKF_LANE_BYTES == 0
template <class S>
using Together = S;
#else
template <class S>
using Together = Lanes<S, PARKF_LANE_BYTES / sizeof(S)>;
#endif

template <class S>
void fit_range(const Batch<S>& batch, long begin, long end) {
  using T = Together<S>;
  const long stride = batch.tracks.stride;
  for (long i = begin; i < end; i += Number<T>::lanes) {
    const Fitted<T> track = batch.smoother ? fit_smoother<T>(batch.tracks, i, batch.detector)
                                           : fit_forward_backward<T>(batch.tracks, i, batch.detector);
    store(track, stride, i, batch.numbers, batch.integers);
  }
}

}  // namespace

#define PARKF_JOIN(a, b) a##b
#define PARKF_NAME(build) PARKF_JOIN(build_, build)
#define PARKF_TEXT(a) #a
#define PARKF_QUOTE(a) PARKF_TEXT(a)

extern const Build PARKF_NAME(PARKF_BUILD);
const Build PARKF_NAME(PARKF_BUILD){PARKF_QUOTE(PARKF_BUILD), fit_range<float>, fit_range<double>};

}  // namespace parkf::kalman::PARKF_FORMS
