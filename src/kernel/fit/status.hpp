#pragma once
// Reasons why a track is not to be trusted. Only this file has the bits, their names and their meanings: Python and the
// consumer header read the list below.

namespace parkf::kalman {

/// Largest distance in z, mm, of a track's hits from the layers of the set: the root of the sum of squares. Staves of
/// LHCb's UT are 7 mm off in four layers, and these layers are at least 45 mm apart.
constexpr double plane_tolerance = 20.0;

/// χ² of one hit, from its distance to the prediction by the hits before, above which no usual track has this hit: ten
/// standard deviations. The smoother predicts with the q/p of its state: the seed's, and behind the magnet that of the
/// first SciFi hit and of the hits before.
constexpr double far_chi2 = 100.0;

/// A status is a sum of these; 0 is a good fit.
namespace status {
constexpr int non_finite = 1;
constexpr int negative_variance = 2;
constexpr int outside_table = 4;
constexpr int low_momentum = 8;
constexpr int few_velo_hits = 16;
constexpr int no_scifi_hit = 32;
constexpr int wrong_sigma = 64;
constexpr int wrong_plane = 128;
constexpr int velo_unsorted = 256;
constexpr int velo_count = 512;
constexpr int wrong_qop = 1024;
constexpr int null_number = 2048;
constexpr int far_hit = 4096;
constexpr int few_hits = 8192;
constexpr int outside_slices = 16384;

/// Bits that say that hits are doubtful. The fit of these hits is good: some tracks scatter that hard.
constexpr int warnings = far_hit;

struct Bit {
  int bit;
  const char *name, *meaning;
};

// First come problems of the result, then problems of the input, a warning, and problems of tracks that begin behind the
// VELO.
constexpr Bit bits[] = {
    {non_finite, "non_finite", "the result is not finite, mostly because an input is not"},
    {negative_variance, "negative_variance", "a variance is not positive"},
    {outside_table, "outside_table", "beyond the magnet table's bins; its edge was continued"},
    {low_momentum, "low_momentum",
     "below the momenta that the magnet table was trained on; it was continued linearly"},
    {few_velo_hits, "few_velo_hits", "fewer than two VELO hits at different z: there is nothing to start from"},
    {no_scifi_hit, "no_scifi_hit", "no SciFi hit: q/p is the pattern recognition's"},
    {wrong_sigma, "wrong_sigma", "the sigma of a UT or SciFi hit is zero or negative"},
    {wrong_plane, "wrong_plane", "UT or SciFi hits are more than 20 mm off the z of their layers"},
    {velo_unsorted, "velo_unsorted", "VELO hits are not in ascending z"},
    {velo_count, "velo_count", "the number of VELO hits is negative, or above the 26 that there is room for"},
    {wrong_qop, "wrong_qop", "the pattern recognition's q/p is zero or not finite"},
    {null_number, "null_number", "a number of a hit is null; NaN says that there is no hit"},
    {far_hit, "far_hit",
     "a warning: a hit is over 10 sigma off the track through the hits before it; a wrong hit or a hard scattering"},
    {few_hits, "few_hits", "a track of another kind than long has too few hits to determine its state"},
    {outside_slices, "outside_slices", "beyond the grid of the steps inside the magnet; its edge was continued"},
};
}  // namespace status

}  // namespace parkf::kalman
