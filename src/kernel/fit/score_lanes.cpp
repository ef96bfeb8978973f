// The fit with a ghost score, compiled in the same way as fit_lanes.cpp.

#include "fit/magnet_lanes.hpp"
#include "fit/score_rows.hpp"
#include "fit/tiles.hpp"
#include "numbers/build_names.hpp"

namespace parkf::kalman::PARKF_FORMS {

template <class S>
void PARKF_NAME(scored_, PARKF_BUILD)(const Batch<S>& batch, long begin, long end) {
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
    store_scores(batch, i, large, features);
  }
  finish_streams();
}
template void PARKF_NAME(scored_, PARKF_BUILD)(const Batch<float>&, long, long);
template void PARKF_NAME(scored_, PARKF_BUILD)(const Batch<double>&, long, long);

}  // namespace parkf::kalman::PARKF_FORMS
