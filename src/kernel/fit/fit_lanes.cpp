// This file is compiled once for every set of forms, which the generated headers name, and for every instruction set,
// which PARKF_BUILD names. Only the Build may have external linkage.

#include "fit/magnet_lanes.hpp"
#include "fit/smoother.hpp"
#include "fit/tiles.hpp"
#include "fit/trigger.hpp"
#include "numbers/build_names.hpp"

namespace parkf::kalman::PARKF_FORMS {
namespace {

/// Written out, not by a function shared with the other files: the compiler makes a tenth slower code of that.
template <class S>
void fit_range(const Batch<S>& batch, long begin, long end) {
  using T = Together<S>;
  const bool large = outgrows_cache(batch.tracks);
  Tile<T> tile;
  Ahead ahead;
  for (long i = begin; i < end; i += Number<T>::lanes) {
    const Candidates<S> tracks = tracks_from<T>(batch.tracks, i, large, tile, ahead);
    const Fitted<T> track = batch.smoother ? fit_smoother<T>(tracks, 0, batch.detector)
                                           : fit_trigger<T>(tracks, 0, batch.detector);
    if (large) {
      store<true>(track, batch.stride, i, batch.numbers, batch.integers);
    } else {
      store(track, batch.stride, i, batch.numbers, batch.integers);
    }
  }
  finish_streams();
}

}  // namespace

// Defined in the other files.
template <class S>
void PARKF_NAME(rich_, PARKF_BUILD)(const Batch<S>&, long, long);
template <class S>
void PARKF_NAME(robust_, PARKF_BUILD)(const Batch<S>&, long, long);
template <class S>
void PARKF_NAME(scored_, PARKF_BUILD)(const Batch<S>&, long, long);
template <class S>
void PARKF_NAME(residuals_, PARKF_BUILD)(const Batch<S>&, long, long);
template <class S>
void PARKF_NAME(kind_, PARKF_BUILD)(const Batch<S>&, long, long);

template <class S>
static constexpr Fits<S> fits{fit_range<S>,
                              PARKF_NAME(rich_, PARKF_BUILD)<S>,
                              PARKF_NAME(robust_, PARKF_BUILD)<S>,
                              PARKF_NAME(scored_, PARKF_BUILD)<S>,
                              PARKF_NAME(residuals_, PARKF_BUILD)<S>,
                              PARKF_NAME(kind_, PARKF_BUILD)<S>};

extern const Build PARKF_NAME(build_, PARKF_BUILD);
const Build PARKF_NAME(build_, PARKF_BUILD){PARKF_QUOTE(PARKF_BUILD), fits<float>, fits<double>};

}  // namespace parkf::kalman::PARKF_FORMS
