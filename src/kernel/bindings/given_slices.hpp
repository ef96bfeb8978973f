#pragma once
// The steps inside the magnet as Python hands them over.

#include <nanobind/ndarray.h>

#include <array>
#include <stdexcept>
#include <vector>

#include "fit/slices.hpp"

namespace parkf::slices {

/// `place` has z where the first slice begins, the length of a slice, and the edges of the grid; a row of `scatterers`
/// is z, the width of the angle times momentum, and half the size of the opening. The arrays must outlive this object.
class GivenSlices {
 public:
  template <class S, std::size_t N>
  using In = nanobind::ndarray<const S, nanobind::ndim<N>, nanobind::c_contig, nanobind::device::cpu>;

  GivenSlices(const In<float, 4>& numbers, const std::array<double, 4>& place, const In<double, 1>& centre,
              const In<double, 2>& scatterers)
      : layers_(scatterers.shape(0)) {
    if (numbers.shape(1) != nodes_x || numbers.shape(2) != nodes_y || numbers.shape(3) != row ||
        centre.shape(0) != numbers.shape(0) || scatterers.shape(1) != 3) {
      throw std::invalid_argument("slices: arrays do not fit together");
    }
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const double* from = scatterers.data() + 3 * i;
      layers_[i] = {from[0], from[1], from[2]};
    }
    slices_ = {static_cast<int>(numbers.shape(0)), place[0], place[1], place[2], place[3], centre.data(),
               numbers.data(), static_cast<int>(layers_.size()), layers_.data()};
  }
  GivenSlices(const GivenSlices&) = delete;
  GivenSlices& operator=(const GivenSlices&) = delete;

  const Slices& get() const { return slices_; }

 private:
  std::vector<Scatterer> layers_;
  Slices slices_;
};

}  // namespace parkf::slices
