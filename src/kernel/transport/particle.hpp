#pragma once
// One particle's way through field and material, with the states it leaves at the recorded planes.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "transport/detector.hpp"

namespace parkf::transport {

struct Particle {
  std::int32_t event, number;
  double charge, mass;
  double x, y, z, px, py, pz;
};

struct Crossing {
  std::int32_t event, particle;
  std::int16_t plane;
  bool active;
  double z, x, y, tx, ty, p;
  double hardest;  // largest scattering of one layer so far: space angle over the projected width of its core
};

struct Conditions {
  std::uint64_t seed;
  double tolerance;          // mm, of a Runge-Kutta step
  double least_momentum;     // MeV; below it a particle counts as stopped
  double steepest;           // slope beyond which a particle counts as lost
};

/// Turn a direction by a space angle towards an azimuth.
inline void deflect(State<double>& state, double angle, double azimuth) {
  const double norm = std::sqrt(1.0 + state.tx * state.tx + state.ty * state.ty);
  const double d[3] = {state.tx / norm, state.ty / norm, 1.0 / norm};
  // Two axes across the direction; it is never along x here.
  const double across = std::sqrt(d[1] * d[1] + d[2] * d[2]);
  const double second[3] = {0.0, d[2] / across, -d[1] / across};
  const double first[3] = {across, -d[0] * d[1] / across, -d[0] * d[2] / across};
  const double c = std::cos(angle);
  const double s1 = std::sin(angle) * std::cos(azimuth);
  const double s2 = std::sin(angle) * std::sin(azimuth);
  double turned[3];
  for (int i = 0; i < 3; ++i) turned[i] = c * d[i] + s1 * first[i] + s2 * second[i];
  state.tx = turned[0] / turned[2];
  state.ty = turned[1] / turned[2];
}

/// Scatter and slow a particle in a share of a layer; `length` is the path in mm through the whole layer, and
/// `hardest` grows to the angle over its core's width. False when it stops.
inline bool traverse(const Material& material, double length, double share, const Particle& particle,
                     const Conditions& conditions, std::uint32_t step, State<double>& state, double& hardest) {
  Random random(conditions.seed, static_cast<std::uint32_t>(particle.event),
                static_cast<std::uint32_t>(particle.number), step);
  const double p = std::abs(particle.charge / state.qop);
  const Kinematics kinematics(p, particle.mass);
  const double whole = length / material.radiation_length;
  const double core = std::abs(particle.charge) * highland(share * whole, whole, p, kinematics.beta2);
  const double angle = scattering_angle(material, share * whole, kinematics.beta2, core, random);
  if (core > 0.0) hardest = std::max(hardest, angle / core);
  deflect(state, angle, 6.283185307179586 * random.uniform());

  const double charge2 = particle.charge * particle.charge;
  const double energy = std::sqrt(p * p + particle.mass * particle.mass) -
                        charge2 * sampled_loss(material, share * length, kinematics, random);
  if (energy < std::hypot(particle.mass, conditions.least_momentum)) return false;
  state.qop = particle.charge / std::sqrt(energy * energy - particle.mass * particle.mass);
  return !(std::abs(state.tx) > conditions.steepest || std::abs(state.ty) > conditions.steepest);
}

/// Path per unit thickness through a plane.
inline double obliquity(const Plane& plane, const State<double>& state) {
  const double norm = std::sqrt(1.0 + state.tx * state.tx + state.ty * state.ty);
  const double normal = std::sqrt(1.0 + plane.dzdx * plane.dzdx + plane.dzdy * plane.dzdy);
  return norm * normal / std::abs(1.0 - plane.dzdx * state.tx - plane.dzdy * state.ty);
}

class Tracker {
 public:
  Tracker(const FieldGrid& grid, const Detector& detector, const Conditions& conditions)
      : grid_(grid), detector_(detector), conditions_(conditions) {}

  /// Follow a particle downstream and append its crossings in the order of z.
  void follow(const Particle& particle, std::vector<Crossing>& crossings) const {
    const double p = std::sqrt(particle.px * particle.px + particle.py * particle.py + particle.pz * particle.pz);
    if (!(particle.pz > 0.0) || particle.charge == 0.0 || !(p > conditions_.least_momentum)) return;
    State<double> state{particle.x, particle.y, particle.px / particle.pz, particle.py / particle.pz,
                        particle.charge / p, particle.z};
    if (!(std::abs(state.tx) < conditions_.steepest && std::abs(state.ty) < conditions_.steepest)) return;
    double hardest = 0.0;
    for (std::size_t i = 0; i < detector_.surfaces.size(); ++i) {
      const Surface& surface = detector_.surfaces[i];
      if (distance_to(surface.plane, state) <= 0.0) continue;  // born behind it
      if (!cross_tubes(particle, surface.plane, state, hardest)) return;
      if (!propagate(grid_, surface.plane, conditions_.tolerance, state)) return;
      const bool covered = surface.covers(state.x, state.y);
      const bool thick = covered && surface.thickness > 0.0;
      // Half of the material before the recorded point and half behind: forwards and backwards are alike.
      const auto step = static_cast<std::uint32_t>(2 * i);
      if (thick && !half(surface, particle, step, state, hardest)) return;
      record(surface, covered, particle, state, hardest, crossings);
      if (thick && !half(surface, particle, step + 1, state, hardest)) return;
    }
  }

 private:
  bool half(const Surface& surface, const Particle& particle, std::uint32_t step, State<double>& state,
            double& hardest) const {
    return traverse(detector_.materials[surface.material], surface.thickness * obliquity(surface.plane, state), 0.5,
                    particle, conditions_, step, state, hardest);
  }

  void record(const Surface& surface, bool covered, const Particle& particle, const State<double>& state,
              double hardest, std::vector<Crossing>& crossings) const {
    // VELO sensors are small: only what they see is of interest. The other planes are recorded everywhere.
    if (surface.plane_index < 0 || (surface.only_covered && !covered)) return;
    append(surface.plane_index, covered, particle, state, hardest, crossings);
    if (surface.companion_index < 0) return;
    State<double> companion = state;
    if (!propagate(grid_, surface.companion, conditions_.tolerance, companion)) return;
    append(surface.companion_index, true, particle, companion, hardest, crossings);
    if (companion.z < state.z) std::swap(crossings[crossings.size() - 1], crossings[crossings.size() - 2]);
  }

  static void append(int plane, bool active, const Particle& particle, const State<double>& state, double hardest,
                     std::vector<Crossing>& crossings) {
    crossings.push_back({particle.event, particle.number, static_cast<std::int16_t>(plane), active, state.z, state.x,
                         state.y, state.tx, state.ty, std::abs(particle.charge / state.qop), hardest});
  }

  /// Stop at the walls of tubes on the way to a plane; their crossings are found along the tangent.
  bool cross_tubes(const Particle& particle, const Plane& goal, State<double>& state, double& hardest) const {
    for (std::size_t i = 0; i < detector_.tubes.size(); ++i) {
      const Tube& tube = detector_.tubes[i];
      if (state.z > tube.z_max || std::hypot(state.x, state.y) > 0.999 * tube.radius) continue;
      const double slope2 = state.tx * state.tx + state.ty * state.ty;
      if (slope2 == 0.0) continue;
      // (x + tx s)^2 + (y + ty s)^2 = radius^2
      const double along = (state.x * state.tx + state.y * state.ty) / slope2;
      const double rest = (state.x * state.x + state.y * state.y - tube.radius * tube.radius) / slope2;
      const double s = -along + std::sqrt(along * along - rest);
      const double z = state.z + s;
      if (s >= distance_to(goal, state) || z < tube.z_min || z > tube.z_max) continue;
      if (!propagate(grid_, {z, 0.0, 0.0}, conditions_.tolerance, state)) return false;
      const double length = tube.thickness * std::sqrt(1.0 + state.tx * state.tx + state.ty * state.ty);
      const auto step = static_cast<std::uint32_t>(2 * detector_.surfaces.size() + i);
      if (!traverse(detector_.materials[tube.material], length, 1.0, particle, conditions_, step, state, hardest))
        return false;
    }
    return true;
  }

  const FieldGrid& grid_;
  const Detector& detector_;
  const Conditions conditions_;
};

}  // namespace parkf::transport
