#pragma once
// Ways from states to planes, several at a time: each in a lane of its own, with a step length of its own. A lane that
// has arrived starts the next leg at once, so that none waits for another.

#include <vector>

#include "transport/runge_kutta.hpp"

namespace parkf::transport {

struct Leg {
  State<double> state;
  Plane goal;
};

/// Where legs come from, and where their ends go. What one lane is given never depends on another.
class Legs {
 public:
  /// The first leg of a lane; false when there is no more work.
  virtual bool begin(int lane, Leg& leg) = 0;

  /// End the leg of a lane and start the next one; returns false when there is none. `there`: the leg has reached its
  /// plane.
  virtual bool next(int lane, bool there, Leg& leg) = 0;

 protected:
  ~Legs() = default;
};

/// Carries legs of any number to their planes, as `propagate` carries one, with steps of this tolerance in mm.
struct Carrier {
  const char* name;
  void (*carry)(const FieldGrid& grid, double tolerance, Legs& legs);
};

/// Carriers that this machine can run, the fastest first; all compute the same bits.
std::vector<const Carrier*> carriers();

}  // namespace parkf::transport
