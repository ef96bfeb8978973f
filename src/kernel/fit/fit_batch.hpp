#pragma once
// A batch of candidates for the CPU, and the builds of the kernel that can fit it.

#include "fit/kind.hpp"
#include "fit/slices.hpp"
#include "fit/tile.hpp"

namespace parkf::kalman {

template <class S>
struct Batch {
  CandidateRows<S> tracks;
  Detector<S> detector;
  bool smoother;  // whether fits are the smoother's; otherwise in the trigger's arithmetic
  const S* rich;  // constants of the steps to the RICH planes, for states there
  bool scored;    // of robust fits: with ghost scores, too
  const float* score;  // numbers of the ghost score; none where features are wanted
  int score_row;       // of `numbers`, where scores or features begin
  bool covariances;    // of fits with residuals: with the covariances between hits, too
  int kind;               // of fits of a kind: its number in `kinds`,
  slices::Slices slices;  // the steps inside the magnet,
  S loss;                 // and the mean loss of momentum before the first layer behind the VELO, MeV
  // (quantity, stride): those of Fitted, with those of a robust fit, of states at the RICH planes or of residuals behind
  // them; rows begin at cache lines and hold whole ones.
  long stride;
  S* numbers;
  int* integers;
};

/// The stride of a batch is a multiple of this number.
constexpr long stride_unit = 16;

/// Fits tracks begin … end - 1 of a batch; begin is a multiple of the stride's unit.
template <class S>
using FitRange = void (*)(const Batch<S>&, long begin, long end);

/// The fits of a build, in one precision.
template <class S>
struct Fits {
  FitRange<S> plain;
  FitRange<S> rich;       // with states at the RICH planes
  FitRange<S> robust;
  FitRange<S> scored;     // by the smoother with scores, or with the features that scores are computed from
  FitRange<S> residuals;  // by the smoother with every hit compared with all others
  FitRange<S> kind;       // of a kind of tracks besides long ones
};

struct Build {
  const char* name;
  Fits<float> in_float;
  Fits<double> in_double;

  template <class S>
  const Fits<S>& in() const {
    if constexpr (sizeof(S) == 4) {
      return in_float;
    } else {
      return in_double;
    }
  }
};

}  // namespace parkf::kalman
