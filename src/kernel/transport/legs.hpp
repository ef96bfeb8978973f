#pragma once
// Legs, which are paths from states to planes. Several are computed at a time, each in its own lane with its own step
// length. A lane that has arrived starts another leg at once, so that no lane waits for another.

#include <cstdint>
#include <vector>

#include "transport/runge_kutta.hpp"

namespace parkf::transport {

struct Detector;
struct Passage;

struct Leg {
  State<double> state;
  Plane goal;
};

/// The leg of a traveller, which has a number.
struct Journey {
  int traveller;
  Leg leg;
  bool there;  // whether the leg has reached its plane, when it has ended
};

/// A source of legs, which also receives their ends. The legs of a traveller never depend on other travellers.
class Legs {
 public:
  /// Start up to `most` travellers; return how many there are.
  virtual int begin(Journey* journeys, int most) = 0;

  /// Take journeys that have ended, and put those that follow in their place; return how many there are.
  virtual int go_on(Journey* journeys, int count) = 0;

 protected:
  ~Legs() = default;
};

/// Carries any number of legs to their planes, as `propagate` does for one leg, with steps of this tolerance in mm; and
/// traverses layers of material.
struct Build {
  const char* name;
  void (*carry)(const FieldGrid& grid, double tolerance, Legs& legs);
  void (*traverse)(const Detector& detector, std::uint64_t seed, Passage* const* passages, int count);
};

/// Builds that this machine can run, the fastest first; all compute the same bits.
std::vector<const Build*> builds();

}  // namespace parkf::transport
