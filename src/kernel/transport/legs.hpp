#pragma once
// Legs, which are paths from states to planes. Several are computed at a time, each in its own lane with its own step
// length. A lane that has arrived starts the next leg at once, so that no lane waits for another.

#include <vector>

#include "transport/runge_kutta.hpp"

namespace parkf::transport {

struct Leg {
  State<double> state;
  Plane goal;
};

/// A source of legs, which also receives their ends. The legs of a lane never depend on other lanes.
class Legs {
 public:
  /// Start the first leg of a lane. Return false if there is no more work.
  virtual bool begin(int lane, Leg& leg) = 0;

  /// End the leg of a lane and start the next one. Return false if there is none. `there` is whether the leg has
  /// reached its plane.
  virtual bool next(int lane, bool there, Leg& leg) = 0;

 protected:
  ~Legs() = default;
};

/// Carries any number of legs to their planes, as `propagate` does for one leg, with steps of this tolerance in mm.
struct Build {
  const char* name;
  void (*carry)(const FieldGrid& grid, double tolerance, Legs& legs);
};

/// Builds that this machine can run, the fastest first; all compute the same bits.
std::vector<const Build*> builds();

}  // namespace parkf::transport
