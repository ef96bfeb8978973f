#pragma once
// What the fit at every plane writes.

namespace parkf::kalman {

/// Planes of the RICH detectors, two before the magnet and two behind it, mm.
constexpr int rich_planes = 4;
constexpr double rich_z[rich_planes] = {990, 2165, 9450, 11900};

constexpr int plane_numbers = 14;  // of a plane: x, y, tx, ty, and the lower triangle of their covariance
constexpr int interval_numbers = 1 + rich_planes * plane_numbers;
constexpr int interval_integers = 1;

}  // namespace parkf::kalman
