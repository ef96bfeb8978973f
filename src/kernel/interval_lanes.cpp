// As fit_lanes.cpp, of the fit at every plane.

#include "build_names.hpp"
#include "interval.hpp"
#include "magnet_lanes.hpp"
#include "tiles.hpp"

namespace parkf::kalman::PARKF_FORMS {

template <class S>
static void interval_range(const Batch<S>& batch, long begin, long end) {
  using T = Together<S>;
  constexpr int n = Number<T>::lanes;
  const long count = batch.tracks.count;
  const int numbers = batch.planes ? interval_numbers : 1;
  const bool fetch = outgrows_cache(batch.tracks);
  Tile<T> tile;
  Ahead ahead;
  for (long i = begin; i < end; i += n) {
    fill(batch.tracks, i, tile);
    Candidates<S> tracks = tile.candidates();
    if (fetch) {
      ahead = ahead_of<n>(batch, i, numbers, interval_integers);
      tracks.ahead = &ahead;
    }
    const Interval<T> track = fit_interval<T>(tracks, 0, batch.detector, batch.planes);
    if (i + n <= count) {
      store_interval(track, batch.planes, count, i, batch.numbers, batch.integers);
    } else {
      S last[interval_numbers * n];
      int last_integers[interval_integers * n];
      store_interval(track, batch.planes, n, 0, last, last_integers);
      copy_last<n>(last, numbers, count, i, batch.numbers);
      copy_last<n>(last_integers, interval_integers, count, i, batch.integers);
    }
  }
}

void PARKF_NAME(interval_float_, PARKF_BUILD)(const Batch<float>& batch, long begin, long end) {
  interval_range(batch, begin, end);
}
void PARKF_NAME(interval_double_, PARKF_BUILD)(const Batch<double>& batch, long begin, long end) {
  interval_range(batch, begin, end);
}

}  // namespace parkf::kalman::PARKF_FORMS
