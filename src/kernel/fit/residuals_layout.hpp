#pragma once
// The rows of results of a fit that compares every hit with all others.

#include "fit/track.hpp"

namespace parkf::kalman {

/// Measured coordinates of a track: x of the VELO slots, y of the VELO slots, UT and SciFi layers.
constexpr int coordinates = 2 * velo_slots + ut_layers + scifi_layers;
/// Rows that are added if covariances are wanted: the noise of the step to each slot (xx, xtx, txtx, yy, yty, tyty), and the
/// lower triangle of V⁻¹ without its diagonal.
constexpr int noise_rows = 6 * (velo_slots + ut_layers + scifi_layers);
constexpr int covariance_rows = noise_rows + coordinates * (coordinates - 1) / 2;
/// Rows of results: w, d and its decrease for 1/MeV of each coordinate; the smoothed x, y, tx, ty of each slot; and of the
/// step to each slot, ρᵀQρ and its expectation tr(QN).
constexpr int residual_numbers = 3 * coordinates + 6 * (velo_slots + ut_layers + scifi_layers);

}  // namespace parkf::kalman
