#pragma once
// Particles on their way through field and material, with the states they leave at the recorded planes.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "transport/detector.hpp"
#include "transport/legs.hpp"
#include "transport/nuclear.hpp"

namespace parkf::transport {

constexpr double two_pi = 6.283185307179586;
constexpr double heaviest_lepton = 110.0;  // MeV; hadrons are heavier

struct Particle {
  std::int32_t event, number;
  double charge, mass;
  double x, y, z, px, py, pz;
  double z_end;  // where it decays or interacts
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
  // A particle leaves no crossings if it crosses active parts of fewer planes before `velo_end` (mm), or does not reach
  // an active part of `last_plane`. With 0 and -1 every particle leaves its crossings.
  int fewest_planes;
  double velo_end;
  int last_plane;
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

/// Path per unit thickness through a plane.
inline double obliquity(const Plane& plane, const State<double>& state) {
  const double norm = std::sqrt(1.0 + state.tx * state.tx + state.ty * state.ty);
  const double normal = std::sqrt(1.0 + plane.dzdx * plane.dzdx + plane.dzdy * plane.dzdy);
  return norm * normal / std::abs(1.0 - plane.dzdx * state.tx - plane.dzdy * state.ty);
}

/// A particle between two goals. In the order of z, the goals are surfaces, and before each surface the tubes on the
/// way.
class Walk {
 public:
  Walk(const FieldGrid& grid, const Detector& detector, const Conditions& conditions)
      : grid_(grid), detector_(detector), conditions_(conditions) {}

  /// Start with a particle, whose crossings will be appended in the order of z. Return false if it reaches no goal.
  bool begin(const Particle& particle, std::vector<Crossing>& crossings, Leg& leg) {
    particle_ = &particle;
    crossings_ = &crossings;
    surface_ = tube_ = 0;
    hardest_ = 0.0;
    planes_ = 0;
    through_ = conditions_.last_plane < 0;
    least_energy_ = std::hypot(particle.mass, conditions_.least_momentum);
    const double p = std::sqrt(particle.px * particle.px + particle.py * particle.py + particle.pz * particle.pz);
    if (!(particle.pz > 0.0) || particle.charge == 0.0 || !(p > conditions_.least_momentum)) return false;
    leg.state = {particle.x,          particle.y, particle.px / particle.pz, particle.py / particle.pz,
                 particle.charge / p, particle.z};
    if (!(std::abs(leg.state.tx) < conditions_.steepest && std::abs(leg.state.ty) < conditions_.steepest)) return false;
    return find_goal(leg);
  }

  /// Simulate the goal of a leg, and find the next goal. Return false if the particle stops, ends, has passed all
  /// goals, or is not wanted.
  bool go_on(Leg& leg) {
    if (planes_ < conditions_.fewest_planes && leg.state.z > conditions_.velo_end) return false;
    if (at_tube_) {
      const Tube& tube = detector_.tubes[tube_];
      const double length = tube.thickness * std::sqrt(1.0 + leg.state.tx * leg.state.tx + leg.state.ty * leg.state.ty);
      const auto step = static_cast<std::uint32_t>(2 * detector_.surfaces.size() + tube_);
      ++tube_;
      return traverse(tube.material, length, 1.0, step, leg.state) && find_goal(leg);
    }
    const Surface& surface = detector_.surfaces[surface_];
    const bool covered = surface.covers(leg.state.x, leg.state.y);
    const bool thick = covered && surface.thickness > 0.0;
    // The particle crosses half of the material before its state is recorded, and half afterwards. So a state describes
    // both directions of flight alike.
    const auto step = static_cast<std::uint32_t>(2 * surface_);
    if (thick && !half(surface, step, leg.state)) return false;
    record(surface, covered, leg.state);
    if (leg.state.z > particle_->z_end || (thick && !half(surface, step + 1, leg.state))) return false;
    ++surface_;
    tube_ = 0;
    return find_goal(leg);
  }

  /// End the path of the particle.
  void end() {
    if (!through_ || planes_ < conditions_.fewest_planes) crossings_->clear();
  }

 private:
  const FieldGrid& grid_;
  const Detector& detector_;
  const Conditions& conditions_;
  const Particle* particle_ = nullptr;
  std::vector<Crossing>* crossings_ = nullptr;
  std::size_t surface_ = 0, tube_ = 0;
  bool at_tube_ = false;
  double hardest_ = 0.0;  // largest scattering angle over its core's width
  double least_energy_ = 0.0;
  int planes_ = 0;  // crossed actively before the end of the VELO
  bool through_ = false;

  bool find_goal(Leg& leg) {
    for (; surface_ < detector_.surfaces.size(); ++surface_, tube_ = 0) {
      const Plane& plane = detector_.surfaces[surface_].plane;
      if (tube_ == 0 && distance_to(plane, leg.state) <= 0.0) continue;  // born behind it
      for (; tube_ < detector_.tubes.size(); ++tube_) {
        double z;
        if (!crosses(detector_.tubes[tube_], plane, leg.state, z)) continue;
        at_tube_ = true;
        leg.goal = {z, 0.0, 0.0};
        return true;
      }
      at_tube_ = false;
      leg.goal = plane;
      return true;
    }
    return false;
  }

  /// Whether the wall of a tube is on the way to a plane. The tangent determines the crossing.
  static bool crosses(const Tube& tube, const Plane& goal, const State<double>& state, double& z) {
    if (state.z > tube.z_max || std::abs(state.x) > tube.radius || std::abs(state.y) > tube.radius) return false;
    if (std::hypot(state.x, state.y) > 0.999 * tube.radius) return false;
    const double slope2 = state.tx * state.tx + state.ty * state.ty;
    if (slope2 == 0.0) return false;
    // (x + tx s)^2 + (y + ty s)^2 = radius^2
    const double along = (state.x * state.tx + state.y * state.ty) / slope2;
    const double rest = (state.x * state.x + state.y * state.y - tube.radius * tube.radius) / slope2;
    const double s = -along + std::sqrt(along * along - rest);
    z = state.z + s;
    return !(s >= distance_to(goal, state) || z < tube.z_min || z > tube.z_max);
  }

  bool half(const Surface& surface, std::uint32_t step, State<double>& state) {
    return traverse(surface.material, surface.thickness * obliquity(surface.plane, state), 0.5, step, state);
  }

  /// Scatter and slow down in a fraction `share` of a layer; `length` is the path in mm through the whole layer. Return
  /// false if the particle stops.
  bool traverse(int number, double length, double share, std::uint32_t step, State<double>& state) {
    const Material& material = detector_.materials[static_cast<std::size_t>(number)];
    const Particle& particle = *particle_;
    Random random(conditions_.seed, static_cast<std::uint32_t>(particle.event),
                  static_cast<std::uint32_t>(particle.number), step);
    const double p = std::abs(particle.charge / state.qop);
    const Kinematics kinematics(p, particle.mass);
    const double whole = length / material.radiation_length;
    const double core = std::abs(particle.charge) * highland(share * whole, whole, p, kinematics.beta2);
    const double angle = scattering_angle(detector_.shapes[static_cast<std::size_t>(number)], share * whole,
                                          kinematics.beta2, core, random);
    if (core > 0.0) hardest_ = std::max(hardest_, angle / core);
    deflect(state, angle, two_pi * random.uniform());

    const double charge2 = particle.charge * particle.charge;
    double energy = std::sqrt(p * p + particle.mass * particle.mass) -
                    charge2 * sampled_loss(material, share * length, kinematics, random);
    if (particle.mass > heaviest_lepton) {
      const NuclearScatter nuclear = nuclear_scatter(material, share * length, p, particle.mass, random);
      if (nuclear.angle > 0.0) {
        hardest_ = std::max(hardest_, nuclear.angle / core);
        deflect(state, nuclear.angle, two_pi * random.uniform());
        energy -= nuclear.recoil;
      }
    }
    // Heavier particles radiate less by the square of their masses, a muon 40,000 times.
    if (particle.mass < 2.0 * electron_mass) energy *= kept_in_radiation(share * whole, random);
    if (energy < least_energy_) return false;
    state.qop = particle.charge / std::sqrt(energy * energy - particle.mass * particle.mass);
    return !(std::abs(state.tx) > conditions_.steepest || std::abs(state.ty) > conditions_.steepest);
  }

  void record(const Surface& surface, bool covered, const State<double>& state) {
    // VELO sensors are small, so that only crossings of sensors are recorded. Other planes record crossings everywhere.
    if (surface.plane_index < 0 || (surface.only_covered && !covered)) return;
    const bool first = append(surface.plane_index, covered, state);
    if (surface.companion_index < 0) return;
    State<double> companion = state;
    if (!propagate(grid_, surface.companion, conditions_.tolerance, companion)) return;
    const bool second = append(surface.companion_index, true, companion);
    if (first && second && companion.z < state.z)
      std::swap((*crossings_)[crossings_->size() - 1], (*crossings_)[crossings_->size() - 2]);
  }

  /// Append a crossing, unless the particle has ended before.
  bool append(int plane, bool active, const State<double>& state) {
    if (state.z > particle_->z_end) return false;
    if (active && state.z <= conditions_.velo_end) ++planes_;
    if (active && plane == conditions_.last_plane) through_ = true;
    crossings_->push_back({particle_->event, particle_->number, static_cast<std::int16_t>(plane), active, state.z,
                           state.x, state.y, state.tx, state.ty, std::abs(particle_->charge / state.qop), hardest_});
    return true;
  }
};

/// Particles `first` … `last` - 1 of an array, each in a lane. Their crossings are in the order of the particles.
class Walks final : public Legs {
 public:
  Walks(const FieldGrid& grid, const Detector& detector, const Conditions& conditions,
        const std::vector<Particle>& particles, std::size_t first, std::size_t last)
      : particles_(particles), walk_(grid, detector, conditions), first_(first), last_(last), next_(first) {
    crossings_.resize(last - first);
  }

  bool begin(int lane, Leg& leg) override {
    while (lanes_.size() <= static_cast<std::size_t>(lane)) lanes_.push_back(walk_);
    while (next_ < last_) {
      const std::size_t i = next_++;
      if (lanes_[static_cast<std::size_t>(lane)].begin(particles_[i], crossings_[i - first_], leg)) return true;
    }
    return false;
  }

  bool next(int lane, bool there, Leg& leg) override {
    Walk& walk = lanes_[static_cast<std::size_t>(lane)];
    if (there && walk.go_on(leg)) return true;
    walk.end();
    return begin(lane, leg);
  }

  /// Crossings of each particle.
  std::vector<std::vector<Crossing>> take() { return std::move(crossings_); }

 private:
  const std::vector<Particle>& particles_;
  const Walk walk_;  // as every lane begins
  std::vector<Walk> lanes_;
  std::size_t first_, last_, next_;
  std::vector<std::vector<Crossing>> crossings_;  // of each particle
};

}  // namespace parkf::transport
