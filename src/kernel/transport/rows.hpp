#pragma once
// States in rows of an array, each of which is carried to its own plane.

#include "transport/legs.hpp"

namespace parkf::transport {

class Rows final : public Legs {
 public:
  /// Rows `first` … `last` - 1: `states` are (x, y, tx, ty, q/p) at `z`, `planes` are (z0, dz/dx, dz/dy).
  Rows(const double* states, const double* z, const double* planes, double* ends, double* end_z, bool* ok,
       std::size_t first, std::size_t last)
      : states_(states), z_(z), planes_(planes), ends_(ends), end_z_(end_z), ok_(ok), next_(first), last_(last) {}

  int begin(Journey* journeys, int most) override {
    int count = 0;
    while (count < most && start(journeys[count])) ++count;
    return count;
  }

  int go_on(Journey* journeys, int count) override {
    int left = 0;
    for (int i = 0; i < count; ++i) {
      const State<double>& state = journeys[i].leg.state;
      const auto row = static_cast<std::size_t>(journeys[i].traveller);
      const double end[5] = {state.x, state.y, state.tx, state.ty, state.qop};
      std::copy(end, end + 5, ends_ + 5 * row);
      end_z_[row] = state.z;
      ok_[row] = journeys[i].there;
      if (start(journeys[left])) ++left;
    }
    return left;
  }

 private:
  const double *states_, *z_, *planes_;
  double *ends_, *end_z_;
  bool* ok_;
  std::size_t next_, last_;

  bool start(Journey& journey) {
    if (next_ >= last_) return false;
    const std::size_t i = next_++;
    const double* s = states_ + 5 * i;
    const double* plane = planes_ + 3 * i;
    journey = {static_cast<int>(i), {{s[0], s[1], s[2], s[3], s[4], z_[i]}, {plane[0], plane[1], plane[2]}}, false};
    return true;
  }
};

}  // namespace parkf::transport
