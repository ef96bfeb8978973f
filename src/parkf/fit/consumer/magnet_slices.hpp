#pragma once
// The steps inside the magnet, as a parameter set has them.

#include <cmath>
#include <cstddef>
#include <vector>

#include "fit/slices.hpp"

namespace parkf {

class MagnetSlices {
 public:
  std::vector<float> numbers;  // (slice, node in x, node in y, row), MeV/mm; empty where the set has none of this version
  double loss_before_ut = 0, loss_before_scifi = 0;  // median losses of a pion's momentum, MeV

  /// Everything but the maps, from the numbers of the set's section; none if they do not fit together.
  static MagnetSlices of(const std::vector<double>& said) {
    MagnetSlices result;
    if (said.size() < 9 || said[2] <= 0 || said[3] <= 0 || said[6] != slices::nodes_x || said[7] != slices::nodes_y) return result;
    const double count = said[8], rest = static_cast<double>(said.size()) - 9 - count;
    if (!(count >= 1 && rest >= 0) || count != std::floor(count) || std::fmod(rest, 3) != 0) return result;
    result.first_ = said[0];
    result.last_ = said[1];
    result.edge_x_ = said[2];
    result.edge_y_ = said[3];
    result.loss_before_ut = said[4];
    result.loss_before_scifi = said[5];
    const auto layers = said.begin() + 9 + static_cast<std::ptrdiff_t>(count);
    result.centre_.assign(said.begin() + 9, layers);
    for (auto one = layers; one != said.end(); one += 3) result.scatterers_.push_back({one[0], one[1], one[2]});
    return result;
  }

  /// How many numbers the maps have.
  std::size_t count() const { return centre_.size() * slices::nodes_x * slices::nodes_y * slices::row; }

  /// The kernel's view, valid as long as this object is.
  slices::Slices view() const {
    const int count = static_cast<int>(centre_.size());
    return {count, first_, count ? (last_ - first_) / count : 0, edge_x_, edge_y_, centre_.data(), numbers.data(),
            static_cast<int>(scatterers_.size()), scatterers_.data()};
  }

 private:
  double first_ = 0, last_ = 0, edge_x_ = 0, edge_y_ = 0;  // mm, mm, and slopes
  std::vector<double> centre_;                             // MeV/mm
  std::vector<slices::Scatterer> scatterers_;
};

}  // namespace parkf
