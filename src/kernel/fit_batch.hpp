#pragma once
// A batch of candidates for the CPU, and the builds of the kernel that can fit it.

#include "tile.hpp"

namespace parkf::kalman {

template <class S>
struct Batch {
  CandidateRows<S> tracks;
  Detector<S> detector;
  bool smoother;  // else forward + VELO backward
  S* numbers;     // (fitted_numbers, count)
  int* integers;  // (fitted_integers, count)
};

/// Fits tracks begin … end - 1 of a batch.
template <class S>
using FitRange = void (*)(const Batch<S>&, long begin, long end);

struct Build {
  const char* name;
  FitRange<float> fit_float;
  FitRange<double> fit_double;
};

}  // namespace parkf::kalman
