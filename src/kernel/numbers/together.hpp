#pragma once
// The numbers that run together in this build, whose vectors have PARKF_LANE_BYTES bytes (0: one number at a time).

#include "numbers/lanes.hpp"

namespace parkf {

#if PARKF_LANE_BYTES == 0
template <class S>
using Together = S;
#else
template <class S>
using Together = Lanes<S, PARKF_LANE_BYTES / sizeof(S)>;
#endif

}  // namespace parkf
