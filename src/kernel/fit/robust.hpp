#pragma once
// Which tracks a robust fit treats, and when it keeps the result of the treatment.
//
// Half of the tail of q/p comes from wrong UT hits that agree with each other, so that no single hit has a large
// residual; a fit without any UT hit shows them. A third comes from single hard scatters between the planes behind the
// VELO.

#include "fit/track.hpp"

namespace parkf::kalman::robust {

// The limits need not be exact: a factor of two changes the tail of embedded tracks by hundredths of a width.
constexpr double doubted_ut = 2;   // χ²/ndof of the UT hits above which a track is fitted without them
constexpr double ut_fall = 12;     // χ² must fall by so much and one for each UT hit for that fit to be kept
constexpr double hard_kick = 14;   // k_x² + k_y² above which the noise of a step is enlarged
// Where both are the case, the larger excess over its limit decides.
// Behind the VELO, χ²/ndof of a good fit is hardly ever below this value. A second fit can only remove the excess above
// it.
constexpr double rest_share = 0.6;

/// The numbers of a fit by which tracks are chosen, for tracks that run together.
template <class T>
struct Fit {
  T chi2_velo, chi2_ut, chi2_scifi;
  Integer<T> ndof_velo, ndof_ut, ndof_scifi, status;

  /// By how much χ² behind the VELO exceeds the χ² of the best fits with this ndof.
  KERNEL_FUNCTION T excess(const Integer<T>& ndof) const {
    return chi2_ut + chi2_scifi - limit(rest_share) * Number<T>::of(ndof);
  }
  KERNEL_FUNCTION T chi2() const { return chi2_velo + chi2_ut + chi2_scifi; }
  KERNEL_FUNCTION Mask<T> known() const {
    constexpr int unknown = status::non_finite | status::few_velo_hits | status::no_scifi_hit;
    return (status & Integer<T>(unknown)) == Integer<T>(0);
  }
  /// Whether to try without UT hits.
  KERNEL_FUNCTION Mask<T> doubts_ut() const {
    const T hits = Number<T>::of(ndof_ut);
    return known() & (Integer<T>(0) < ndof_ut) & (chi2_ut > limit(doubted_ut) * hits) &
           (excess(ndof_scifi) > limit(ut_fall) + hits);
  }
  /// Whether this fit, without UT hits, is better than the fit with `other_hits` UT hits and the χ² `other_chi2`.
  KERNEL_FUNCTION Mask<T> improves(const T& other_chi2, const T& other_hits) const {
    return known() & (other_chi2 - chi2() > limit(ut_fall) + other_hits);
  }
  /// k² above which a hard kick explains the hits of this fit better than wrong UT hits, without which χ² is `other_chi2`.
  KERNEL_FUNCTION T kick_instead(const T& other_chi2) const {
    return chi2() - other_chi2 - Number<T>::of(ndof_ut) + limit(hard_kick - ut_fall);
  }
  /// Whether to look for a hard kick.
  KERNEL_FUNCTION Mask<T> may_be_kicked() const { return known() & (excess(ndof_ut + ndof_scifi) > limit(hard_kick)); }

 private:
  KERNEL_FUNCTION static T limit(double number) { return T(static_cast<Scalar<T>>(number)); }
};

template <class T>
KERNEL_FUNCTION Fit<T> view(const Fitted<T>& track) {
  return {track.chi2_velo, track.chi2_ut,     track.chi2_scifi, track.ndof_velo,
          track.ndof_ut,   track.ndof_scifi, track.status};
}

}  // namespace parkf::kalman::robust
