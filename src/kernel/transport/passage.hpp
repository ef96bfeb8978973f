#pragma once
// A particle that crosses a layer of material.

#include <cstdint>

namespace parkf::transport {

struct Particle {
  std::int32_t event, number;
  double charge, mass;
  double x, y, z, px, py, pz;
  double z_end;  // where it decays or interacts
};

/// One particle in a layer.
struct Passage {
  const Particle* particle;
  int material;
  double length;         // of the path through the whole layer, mm
  bool half;             // the particle crosses only half of it
  std::uint32_t step;    // of the particle's random numbers
  double momentum;       // MeV, before the passage
  double tx, ty;         // before the passage, and then behind it
  // Results: the energy behind the passage, MeV, and the largest space angle over the projected width of the core.
  double energy, hardest;
};

}  // namespace parkf::transport
