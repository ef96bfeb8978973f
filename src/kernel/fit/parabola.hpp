#pragma once
// The information of hits on q/p, as a parabola of χ².

#include "numbers/number.hpp"

namespace parkf::kalman {

/// χ² of some hits as a function of q/p: chi2 − 2·pull·δ + weight·δ², where δ is q/p minus the q/p of the state.
template <class T>
struct Parabola {
  T chi2, pull, weight;

  KERNEL_FUNCTION static Parabola nothing() { return {T(0), T(0), T(0)}; }
  KERNEL_FUNCTION friend Parabola operator+(const Parabola& a, const Parabola& b) {
    return {a.chi2 + b.chi2, a.pull + b.pull, a.weight + b.weight};
  }
  /// Measure δ from a q/p that is larger by `change`.
  KERNEL_FUNCTION void move(const T& change) {
    const T left = pull - weight * change;
    chi2 -= change * (pull + left);
    pull = left;
  }
  /// The δ of the minimum.
  KERNEL_FUNCTION T best() const { return pull / weight; }
};

}  // namespace parkf::kalman
