// The trigger's fit without some hits, which finds the worst of the others, compiled in the same way as fit_lanes.cpp.

#include "fit/magnet_lanes.hpp"
#include "fit/tiles.hpp"
#include "fit/trigger.hpp"
#include "numbers/build_names.hpp"

namespace parkf::kalman::PARKF_FORMS {

template <class S>
void PARKF_NAME(outlier_, PARKF_BUILD)(const Batch<S>& batch, long begin, long end) {
  if constexpr (has_trigger) {
    using T = Together<S>;
    const bool large = outgrows_cache(batch.tracks);
    Tile<T> tile;
    Ahead ahead;
    for (long i = begin; i < end; i += Number<T>::lanes) {
      const Candidates<S> tracks = tracks_from<T>(batch.tracks, i, large, tile, ahead);
      OutlierSearch<T> search(load_integer<T>(batch.removed[0] + i), load_integer<T>(batch.removed[1] + i));
      MagnetCoefficients<T> m;
      store(trigger::fit<T>(tracks, 0, batch.detector, m, search, trigger::Unseen{}), batch.stride, i, batch.numbers,
            batch.integers);
      T chi2;
      Integer<T> slot;
      search.choose(chi2, slot);
      store(chi2, batch.numbers + fitted_numbers * batch.stride + i);
      store_integer<T>(slot, batch.integers + fitted_integers * batch.stride + i);
    }
    finish_streams();
  } else {
    (void)batch, (void)begin, (void)end;
  }
}
template void PARKF_NAME(outlier_, PARKF_BUILD)(const Batch<float>&, long, long);
template void PARKF_NAME(outlier_, PARKF_BUILD)(const Batch<double>&, long, long);

}  // namespace parkf::kalman::PARKF_FORMS
