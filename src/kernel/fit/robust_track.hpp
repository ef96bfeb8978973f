#pragma once
// What the robust fit does after the plain fit, for a single track. On processors robust_lanes.cpp does the same for
// several tracks in lanes.

#include "fit/kink.hpp"
#include "fit/robust.hpp"
#include "fit/robust_layout.hpp"

namespace parkf::kalman::PARKF_FORMS {

/// Replace `track`, the plain fit, if another fit is better; `done` and `slot` are those of robust_layout.hpp.
template <class S>
KERNEL_FUNCTION void fit_robust(const Candidates<S>& tracks, long i, const Detector<S>& detector, Fitted<S>& track,
                                int& done, int& slot) {
  Treatment<S> treatment{false, -1, S(1)};
  done = 0;
  slot = -1;
  if (robust::view(track).doubts_ut()) {
    const Fitted<S> other = fit_treated<S>(tracks, i, detector, {true, -1, S(1)});
    if (robust::view(other).improves(robust::view(track).chi2(), S(track.ndof_ut))) {
      track = other;
      done = treated::ut_taken_out;
      treatment.without_ut = true;
    }
  }
  if (!robust::view(track).may_be_kicked()) return;
  const Kink<S> kink = find_kink<S>(tracks, i, detector, treatment.without_ut);
  if (!(kink.k2 > S(robust::hard_kick))) return;
  treatment.slot = kink.slot;
  treatment.larger = kink.larger;
  const Fitted<S> other = fit_treated<S>(tracks, i, detector, treatment);
  if (!robust::view(other).known()) return;
  track = other;
  done |= treated::noise_enlarged;
  slot = kink.slot;
}

}  // namespace parkf::kalman::PARKF_FORMS
