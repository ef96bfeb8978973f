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
  Tile<T> tile;
  for (long i = begin; i < end; i += n) {
    fill(batch.tracks, i, tile);
    const Interval<T> track = fit_interval<T>(tile.candidates(), 0, batch.detector, batch.planes);
    if (i + n <= count) {
      store_interval(track, batch.planes, count, i, batch.numbers, batch.integers);
    } else {
      S numbers[interval_numbers * n];
      int integers[interval_integers * n];
      store_interval(track, batch.planes, n, 0, numbers, integers);
      copy_last<n>(numbers, batch.planes ? interval_numbers : 1, count, i, batch.numbers);
      copy_last<n>(integers, interval_integers, count, i, batch.integers);
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
