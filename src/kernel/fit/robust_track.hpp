#pragma once
// What the robust fit does after the plain fit, for a single track. On processors robust_lanes.cpp does the same for
// several tracks in lanes.

#include "fit/kink.hpp"
#include "fit/robust.hpp"
#include "fit/robust_layout.hpp"

namespace parkf::kalman::PARKF_FORMS {

/// Replace the plain fit by another, but as its χ², its far hits stay noted: another fit may leave them out or follow them.
template <class S>
KERNEL_FUNCTION void replace(const Fitted<S>& other, Fitted<S>& track) {
  const int far = track.status & status::far_hit;
  track = other;
  track.status |= far;
}

/// Replace `track`, the plain fit, if another fit is better; `done` and `slot` are those of robust_layout.hpp.
template <class S>
KERNEL_FUNCTION void fit_robust(const Candidates<S>& tracks, long i, const Detector<S>& detector, Fitted<S>& track,
                                int& done, int& slot) {
  Treatment<S> treatment{false, -1, S(1), S(1)};
  done = 0;
  slot = -1;
  if (robust::view(track).doubts_ut()) {
    const Fitted<S> other = fit_treated<S>(tracks, i, detector, {true, -1, S(1), S(1)});
    if (robust::view(other).improves(robust::view(track).chi2(), S(track.ndof_ut))) {
      replace(other, track);
      done = treated::ut_taken_out;
      treatment.without_ut = true;
    }
  }
  if (!robust::view(track).may_be_kicked()) return;
  const Kink<S> kink = find_kink<S>(tracks, i, detector, treatment.without_ut);
  const int scattered = enlarge(kink, treatment);
  if (scattered < 0) return;
  const Fitted<S> other = fit_treated<S>(tracks, i, detector, treatment);
  if (!robust::view(other).known()) return;
  replace(other, track);
  done |= treated::noise_enlarged;
  slot = scattered;
}

}  // namespace parkf::kalman::PARKF_FORMS
