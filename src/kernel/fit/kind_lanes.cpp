// Fits of kinds of tracks besides long ones. Compiled as fit_lanes.cpp is.

#include "fit/fit_kind.hpp"
#include "fit/magnet_lanes.hpp"
#include "fit/slices_lanes.hpp"
#include "fit/tiles.hpp"
#include "numbers/build_names.hpp"

namespace parkf::kalman::PARKF_FORMS {

template <class S>
void PARKF_NAME(kind_, PARKF_BUILD)(const Batch<S>& batch, long begin, long end) {
  using T = Together<S>;
  const bool large = outgrows_cache(batch.tracks);
  const Kind& kind = kinds[batch.kind];
  const T loss(batch.loss);
  Tile<T> tile;
  Ahead ahead;
  for (long i = begin; i < end; i += Number<T>::lanes) {
    const Candidates<S> tracks = tracks_from<T>(batch.tracks, i, large, tile, ahead, kind);
    const FittedBehind<T> fitted = fit_kind(kind, tracks, 0, batch.detector, batch.slices, loss);
    if (large) {
      store<true>(kind, fitted, batch.stride, i, batch.numbers, batch.integers);
    } else {
      store(kind, fitted, batch.stride, i, batch.numbers, batch.integers);
    }
  }
  finish_streams();
}
template void PARKF_NAME(kind_, PARKF_BUILD)(const Batch<float>&, long, long);
template void PARKF_NAME(kind_, PARKF_BUILD)(const Batch<double>&, long, long);

}  // namespace parkf::kalman::PARKF_FORMS
