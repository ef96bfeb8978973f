#pragma once
// The numbers that a robust fit writes in addition to those of a Fitted.

#include "fit/track.hpp"

namespace parkf::kalman {

constexpr int robust_numbers = 3;   // χ² of VELO, UT and SciFi before anything was done
constexpr int robust_integers = 3;  // ndof of the UT before, what was done (`treated`), slot whose step scattered or -1

/// Treatments of a track; `treated` is a sum of these.
namespace treated {
constexpr int ut_taken_out = 1;    // the UT hits, which agree with each other better than with the rest
constexpr int noise_enlarged = 2;  // that of the step that scattered hardest, and that of the magnet
}  // namespace treated

}  // namespace parkf::kalman
