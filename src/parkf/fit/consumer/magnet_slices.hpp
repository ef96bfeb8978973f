#pragma once
// The steps inside the magnet, as a parameter set has them.

#include <string>
#include <vector>

#include "json.hpp"
#include "fit/slices.hpp"

namespace parkf {

class MagnetSlices {
 public:
  std::vector<float> numbers;  // (slice, node in x, node in y, row), MeV/mm; empty where the set has none of this version
  double loss_before_ut = 0, loss_before_scifi = 0;  // median losses of a pion's momentum, MeV

  MagnetSlices() = default;

  /// Everything but the numbers, from the manifest's entry.
  explicit MagnetSlices(const json::Value& entry)
      : loss_before_ut(entry.at("loss_before_ut").number()), loss_before_scifi(entry.at("loss_before_scifi").number()),
        first_(entry.at("z_first").number()), last_(entry.at("z_last").number()),
        edge_x_(entry.at("edge_x").number()), edge_y_(entry.at("edge_y").number()) {
    for (const json::Value& bend : entry.at("centre").items) centre_.push_back(bend.number());
    for (const json::Value& layer : entry.at("scatterers").items) {
      scatterers_.push_back({layer.at("z").number(), layer.at("angle").number(), layer.at("opening").number()});
    }
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
