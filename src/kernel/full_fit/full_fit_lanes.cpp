// This file is compiled once for every instruction set, which PARKF_BUILD names. Only the Build may have external
// linkage.

#include "full_fit/store.hpp"
#include "numbers/build_names.hpp"
#include "numbers/together.hpp"

namespace parkf::full_fit {
namespace {

using T = Together<double>;

void fit(const Batch& batch, long begin, long end) {
  constexpr int lanes = Number<T>::lanes;
  for (long i = begin; i < end; i += lanes) {
    const Tracks<T> tracks(batch.way, batch.tracks, i);
    Filter<T> filter(batch.grid, tracks, *batch.kind, batch.errors);
    store(filter.run(), tracks, batch, i, end);
  }
}

}  // namespace

extern const Build PARKF_NAME(build_, PARKF_BUILD);
const Build PARKF_NAME(build_, PARKF_BUILD){PARKF_QUOTE(PARKF_BUILD), Number<T>::lanes, fit};

}  // namespace parkf::full_fit
