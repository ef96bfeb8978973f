#pragma once
// What the robust fit does after the plain fit, for a single track. On processors robust_lanes.cpp does the same for
// several tracks in lanes.

#include "fit/kink.hpp"
#include "fit/robust.hpp"
#include "fit/robust_layout.hpp"

namespace parkf::kalman::PARKF_FORMS {

/// Follow the kink of a track by more noise, if k² is above `least`; `fit` becomes that fit. Return its slot, or -1.
template <class S>
KERNEL_FUNCTION int follow_kink(const Candidates<S>& tracks, long i, const Detector<S>& detector, bool without_ut,
                                const S& least, Fitted<S>& fit) {
  if (!robust::view(fit).may_be_kicked()) return -1;
  Treatment<S> treatment{without_ut, -1, S(1), S(1)};
  const int slot = enlarge(find_kink<S>(tracks, i, detector, without_ut), least, treatment);
  if (slot < 0) return -1;
  const Fitted<S> other = fit_treated<S>(tracks, i, detector, treatment);
  if (!robust::view(other).known()) return -1;
  fit = other;
  return slot;
}

/// Replace `track`, the plain fit, if another fit is better; `done` and `slot` are those of robust_layout.hpp.
template <class S>
KERNEL_FUNCTION void fit_robust(const Candidates<S>& tracks, long i, const Detector<S>& detector, Fitted<S>& track,
                                int& done, int& slot) {
  const int far = track.status & status::far_hit;
  done = 0;
  S least(robust::hard_kick);
  Fitted<S> without_ut;
  if (robust::view(track).doubts_ut()) {
    without_ut = fit_treated<S>(tracks, i, detector, {true, -1, S(1), S(1)});
    const auto plain = robust::view(track), other = robust::view(without_ut);
    if (other.improves(plain.chi2(), S(track.ndof_ut))) {
      done = treated::ut_taken_out;
      least = larger(least, plain.kick_instead(other.chi2()));
    }
  }
  slot = follow_kink(tracks, i, detector, false, least, track);
  if (slot >= 0) {
    done = treated::noise_enlarged;
  } else if (done != 0) {
    track = without_ut;
    slot = follow_kink(tracks, i, detector, true, S(robust::hard_kick), track);
    if (slot >= 0) done |= treated::noise_enlarged;
  }
  // As its χ², the far hits of the plain fit stay noted: another fit may leave them out or follow them.
  track.status = (track.status & ~status::far_hit) | far;
}

}  // namespace parkf::kalman::PARKF_FORMS
