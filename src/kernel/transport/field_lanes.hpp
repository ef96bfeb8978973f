#pragma once
// The field near several particles in lanes, for the steps of runge_kutta.hpp.

#include "transport/field_gradient.hpp"

namespace parkf::transport {

template <int N>
KERNEL_FUNCTION FieldNearLanes<Lanes<double, N>> field_near(const FieldGrid& grid, const Lanes<double, N>& x,
                                                            const Lanes<double, N>& y, const Lanes<double, N>& z) {
  return {grid, x, y, z};
}

}  // namespace parkf::transport
