#pragma once
// A batch of candidates for the full fit, and the builds that can fit it.

#include "full_fit/way.hpp"

namespace parkf::full_fit {

constexpr int fitted_numbers = 16, fitted_integers = 4;

struct Batch {
  transport::FieldGrid grid;  // as it is for MagDown
  Way way;
  Rows tracks;
  // (quantity, count): z, x, y, tx, ty, q/p, xx, xtx, txtx, yy, yty, tyty, qopqop, χ² of VELO, UT, SciFi.
  double* numbers;
  int* integers;  // ndof of VELO, UT, SciFi, status
};

/// Bits of the status.
constexpr int not_finite = 1, not_positive = 2, no_start = 16, no_scifi = 32;

struct Build {
  const char* name;
  int lanes;  // tracks that are fitted together
  /// Fits tracks begin … end - 1.
  void (*fit)(const Batch&, long begin, long end);
};

}  // namespace parkf::full_fit
