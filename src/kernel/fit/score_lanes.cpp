// As fit_lanes.cpp, of the fit with a ghost score.

#include "fit/magnet_lanes.hpp"
#include "fit/score.hpp"
#include "fit/tiles.hpp"
#include "numbers/build_names.hpp"

namespace parkf::kalman::PARKF_FORMS {
namespace {

/// Written past the caches as other results are: through the caches, the fit takes a tenth longer.
template <class T>
KERNEL_FUNCTION void store_rows(const T* values, int count, bool large, long stride, Scalar<T>* row) {
  for (int q = 0; q < count; ++q, row += stride) {
    if (large) {
      store<true>(values[q], row);
    } else {
      store(values[q], row);
    }
  }
}

template <class S>
void scored_range(const Batch<S>& batch, long begin, long end) {
  using T = Together<S>;
  const bool large = outgrows_cache(batch.tracks);
  Tile<T> tile;
  Ahead ahead;
  for (long i = begin; i < end; i += Number<T>::lanes) {
    const Candidates<S> tracks = tracks_from<T>(batch.tracks, i, large, tile, ahead);
    MagnetCoefficients<T> m;
    T features[score::features];
    const Fitted<T> track = fit_with_features<T>(tracks, 0, batch.detector, m, features);
    if (large) {
      store<true>(track, batch.stride, i, batch.numbers, batch.integers);
    } else {
      store(track, batch.stride, i, batch.numbers, batch.integers);
    }
    S* row = batch.numbers + batch.score_row * batch.stride + i;
    if (batch.score != nullptr) {
      T both[score::models];
      scores(batch.score, features, both);
      store_rows(both, score::models, large, batch.stride, row);
    } else {
      store_rows(features, score::features, large, batch.stride, row);
    }
  }
  finish_streams();
}

}  // namespace

void PARKF_NAME(scored_float_, PARKF_BUILD)(const Batch<float>& batch, long begin, long end) {
  scored_range(batch, begin, end);
}
void PARKF_NAME(scored_double_, PARKF_BUILD)(const Batch<double>& batch, long begin, long end) {
  scored_range(batch, begin, end);
}

}  // namespace parkf::kalman::PARKF_FORMS
