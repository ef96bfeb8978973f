#pragma once
// A batch of states that are carried through the magnet, for processors.

#include "fit/slices.hpp"

namespace parkf::slices {

/// Rows of n tracks: states (n, 5), covariances (n, 15), z (n), polarities (n); and of results, with Jacobians (n, 4, 5).
template <class S>
struct Batch {
  Slices slices;
  long count;
  const S *states, *covariances, *z_from, *z_to, *polarity;
  S *carried, *carried_covariances, *jacobians;
  bool* inside;
};

template <class S>
using CarryRange = void (*)(const Batch<S>&, long begin, long end);

/// One for each instruction set.
struct Build {
  const char* name;
  CarryRange<float> carry_float;
  CarryRange<double> carry_double;
};

}  // namespace parkf::slices
