// As fit_lanes.cpp, of the fit at every plane.

#include "build_names.hpp"
#include "interval.hpp"
#include "magnet_lanes.hpp"
#include "tiles.hpp"

namespace parkf::kalman::PARKF_FORMS {

template <class S>
static void interval_range(const Batch<S>& batch, long begin, long end) {
  using T = Together<S>;
  for_tiles<interval_numbers, interval_integers>(
      batch, begin, end, batch.planes ? interval_numbers : 1,
      [&batch](const Candidates<S>& tracks, long stride, long i, S* numbers, int* integers) {
        store_interval(fit_interval<T>(tracks, 0, batch.detector, batch.planes), batch.planes, stride, i, numbers,
                       integers);
      });
}

void PARKF_NAME(interval_float_, PARKF_BUILD)(const Batch<float>& batch, long begin, long end) {
  interval_range(batch, begin, end);
}
void PARKF_NAME(interval_double_, PARKF_BUILD)(const Batch<double>& batch, long begin, long end) {
  interval_range(batch, begin, end);
}

}  // namespace parkf::kalman::PARKF_FORMS
