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

  bool begin(int lane, Leg& leg) override {
    if (next_ >= last_) return false;
    if (lane >= static_cast<int>(row_.size())) row_.resize(static_cast<std::size_t>(lane) + 1);
    const std::size_t i = next_++;
    const double* s = states_ + 5 * i;
    const double* plane = planes_ + 3 * i;
    row_[static_cast<std::size_t>(lane)] = i;
    leg = {{s[0], s[1], s[2], s[3], s[4], z_[i]}, {plane[0], plane[1], plane[2]}};
    return true;
  }

  bool next(int lane, bool there, Leg& leg) override {
    const std::size_t i = row_[static_cast<std::size_t>(lane)];
    double* end = ends_ + 5 * i;
    end[0] = leg.state.x;
    end[1] = leg.state.y;
    end[2] = leg.state.tx;
    end[3] = leg.state.ty;
    end[4] = leg.state.qop;
    end_z_[i] = leg.state.z;
    ok_[i] = there;
    return begin(lane, leg);
  }

 private:
  const double *states_, *z_, *planes_;
  double *ends_, *end_z_;
  bool* ok_;
  std::size_t next_, last_;
  std::vector<std::size_t> row_;  // of each lane
};

}  // namespace parkf::transport
