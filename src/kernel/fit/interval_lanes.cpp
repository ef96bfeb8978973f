// The search for the worst hit, compiled in the same way as fit_lanes.cpp.

#include "fit/interval.hpp"
#include "fit/magnet_lanes.hpp"
#include "fit/tiles.hpp"
#include "numbers/build_names.hpp"

namespace parkf::kalman::PARKF_FORMS {

template <class S>
static void interval_range(const Batch<S>& batch, long begin, long end) {
  using T = Together<S>;
  const bool large = outgrows_cache(batch.tracks);
  Tile<T> tile;
  Ahead ahead;
  for (long i = begin; i < end; i += Number<T>::lanes) {
    const Candidates<S> tracks = tracks_from<T>(batch.tracks, i, large, tile, ahead);
    const Interval<T> track = fit_interval<T>(tracks, 0, batch.detector);
    if (large) {
      store_interval<true>(track, i, batch.numbers, batch.integers);
    } else {
      store_interval(track, i, batch.numbers, batch.integers);
    }
  }
  finish_streams();
}

void PARKF_NAME(interval_float_, PARKF_BUILD)(const Batch<float>& batch, long begin, long end) {
  interval_range(batch, begin, end);
}
void PARKF_NAME(interval_double_, PARKF_BUILD)(const Batch<double>& batch, long begin, long end) {
  interval_range(batch, begin, end);
}

}  // namespace parkf::kalman::PARKF_FORMS
