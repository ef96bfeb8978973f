// This file is compiled once for every instruction set, which PARKF_BUILD names. Only the Build may have external
// linkage.

#include "full_fit/store.hpp"
#include "numbers/build_names.hpp"

namespace parkf::full_fit {
namespace {

#if PARKF_LANE_BYTES == 0
using Together = double;
#else
using Together = Lanes<double, PARKF_LANE_BYTES / sizeof(double)>;
#endif

void fit(const Batch& batch, long begin, long end) {
  constexpr int lanes = Number<Together>::lanes;
  for (long i = begin; i < end; i += lanes) {
    const Tracks<Together> tracks(batch.way, batch.tracks, i);
    Filter<Together> filter(batch.grid, tracks, *batch.kind);
    store(filter.run(), tracks, batch, i, end);
  }
}

}  // namespace

extern const Build PARKF_NAME(build_, PARKF_BUILD);
const Build PARKF_NAME(build_, PARKF_BUILD){PARKF_QUOTE(PARKF_BUILD), Number<Together>::lanes, fit};

}  // namespace parkf::full_fit
