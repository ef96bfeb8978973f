#pragma once
// What the robust fit does after the plain fit, for a single track. On processors robust_lanes.cpp does the same for
// several tracks in lanes.

#include "fit/kink.hpp"
#include "fit/robust.hpp"
#include "fit/robust_layout.hpp"

namespace parkf::kalman::PARKF_FORMS {

/// Look for a better fit than the `plain` one, with the magnet's coefficients in `m`: keep(fit, what was done, slot) is
/// called for it, with the numbers of robust_layout.hpp. It is called again if a still better one is found.
///
/// The stages are a loop so that each of the two functions that go over all hits is compiled once. In that order: a fit
/// without UT hits, a fit with more noise, and one with both.
template <class S, class Kept, class Keep>
KERNEL_FUNCTION void fit_robust(const Candidates<S>& tracks, long i, const Detector<S>& detector,
                                const robust::Fit<S>& plain, MagnetCoefficients<S, Kept>& m, const Keep& keep) {
  const S chi2 = plain.chi2(), hits(plain.ndof_ut);
  bool kicked = plain.may_be_kicked(), kicked_without_ut = false;
  S least(robust::hard_kick);
  int done = 0;
  KERNEL_ONE_BY_ONE for (int stage = 0; stage < 3; ++stage) {
    Treatment<S> treatment{stage != 1, -1, S(1), S(1)};
    int slot = -1;
    if (stage == 0) {
      if (!plain.doubts_ut()) continue;
    } else {
      if (stage == 2) {
        kicked = kicked_without_ut;
        least = S(robust::hard_kick);
      }
      if (!kicked) continue;
      slot = enlarge(find_kink<S>(tracks, i, detector, treatment.without_ut, m), least, treatment);
      if (slot < 0) continue;
    }
    const Fitted<S> fit = fit_treated<S>(tracks, i, detector, treatment, m);
    const auto found = robust::view(fit);
    if (stage > 0) {
      if (!found.known()) continue;
      keep(fit, (stage == 1 ? 0 : done) | treated::noise_enlarged, slot);
      return;
    }
    if (!found.improves(chi2, hits)) continue;
    done = treated::ut_taken_out;
    least = larger(least, plain.kick_instead(found.chi2()));
    kicked_without_ut = found.may_be_kicked();
    keep(fit, done, -1);
  }
}

}  // namespace parkf::kalman::PARKF_FORMS
