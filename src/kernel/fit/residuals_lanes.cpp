// The fit with every hit compared with all others, compiled in the same way as fit_lanes.cpp.

#include "fit/magnet_lanes.hpp"
#include "fit/residuals.hpp"
#include "fit/tiles.hpp"
#include "numbers/build_names.hpp"

namespace parkf::kalman::PARKF_FORMS {

template <class S>
void PARKF_NAME(residuals_, PARKF_BUILD)(const Batch<S>& batch, long begin, long end) {
  using T = Together<S>;
  const bool large = outgrows_cache(batch.tracks);
  Tile<T> tile;
  Ahead ahead;
  S* const rows = batch.numbers + fitted_numbers * batch.stride;
  for (long i = begin; i < end; i += Number<T>::lanes) {
    const Candidates<S> tracks = tracks_from<T>(batch.tracks, i, large, tile, ahead);
    store(fit_residuals<T>(tracks, 0, batch.detector, batch.stride, rows + i, batch.covariances), batch.stride, i,
          batch.numbers, batch.integers);
  }
  finish_streams();
}
template void PARKF_NAME(residuals_, PARKF_BUILD)(const Batch<float>&, long, long);
template void PARKF_NAME(residuals_, PARKF_BUILD)(const Batch<double>&, long, long);

}  // namespace parkf::kalman::PARKF_FORMS
