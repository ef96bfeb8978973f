#pragma once
// A batch of candidates for the full fit, and the builds that can fit it.

#include "fit/kind.hpp"
#include "full_fit/way.hpp"

namespace parkf::full_fit {

constexpr int fitted_numbers = 16, all_numbers = fitted_numbers + kalman::more_covariances, fitted_integers = 4;

struct Batch {
  transport::FieldGrid grid;  // as it is for MagDown
  Way way;
  Rows tracks;
  const kalman::Kind* kind;  // of all tracks
  bool errors;               // without, χ² and errors of tracks with VELO hits are rough
  // (quantity, count): z, x, y, tx, ty, q/p, xx, xtx, txtx, yy, yty, tyty, qopqop, χ² of VELO, UT, SciFi; then xy, ytx,
  // xty, txty, and the covariances of q/p with x, y, tx, ty.
  double* numbers;
  int* integers;  // ndof of VELO, UT, SciFi, status as in fit/status.hpp
};

struct Build {
  const char* name;
  int lanes;  // tracks that are fitted together
  /// Fits tracks begin … end - 1.
  void (*fit)(const Batch&, long begin, long end);
};

}  // namespace parkf::full_fit
