// The fit with states at the RICH planes, compiled in the same way as fit_lanes.cpp.

#include "fit/magnet_lanes.hpp"
#include "fit/rich.hpp"
#include "fit/tiles.hpp"
#include "numbers/build_names.hpp"

namespace parkf::kalman::PARKF_FORMS {

template <class S>
void PARKF_NAME(rich_, PARKF_BUILD)(const Batch<S>& batch, long begin, long end) {
  using T = Together<S>;
  const bool large = outgrows_cache(batch.tracks);
  Tile<T> tile;
  Ahead ahead;
  S* const to_states = batch.numbers + fitted_numbers * batch.stride;
  for (long i = begin; i < end; i += Number<T>::lanes) {
    const Candidates<S> tracks = tracks_from<T>(batch.tracks, i, large, tile, ahead);
    const RichStates<T> states = fit_rich<T>(tracks, 0, batch.detector, batch.rich);
    if (large) {
      store<true>(states.track, batch.stride, i, batch.numbers, batch.integers);
      store_states<true>(states, batch.stride, i, to_states);
    } else {
      store(states.track, batch.stride, i, batch.numbers, batch.integers);
      store_states(states, batch.stride, i, to_states);
    }
  }
  finish_streams();
}
template void PARKF_NAME(rich_, PARKF_BUILD)(const Batch<float>&, long, long);
template void PARKF_NAME(rich_, PARKF_BUILD)(const Batch<double>&, long, long);

}  // namespace parkf::kalman::PARKF_FORMS
