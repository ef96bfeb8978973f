#pragma once
// Particles on their way through field and material, with the states they leave at the recorded planes.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "transport/detector.hpp"
#include "transport/legs.hpp"
#include "transport/passage.hpp"

namespace parkf::transport {

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

/// Path per unit thickness through a plane.
inline double obliquity(const Plane& plane, const State<double>& state) {
  const double norm = std::sqrt(1.0 + state.tx * state.tx + state.ty * state.ty);
  const double normal = std::sqrt(1.0 + plane.dzdx * plane.dzdx + plane.dzdy * plane.dzdy);
  return norm * normal / std::abs(1.0 - plane.dzdx * state.tx - plane.dzdy * state.ty);
}

/// What a particle does next.
enum class Next { leg, layer, end };

/// A particle between two goals. In the order of z, the goals are surfaces, and before each surface the tubes on the
/// way.
class Walk {
 public:
  Passage passage;  // of a particle whose next is a layer

  Walk(const FieldGrid& grid, const Detector& detector, const Conditions& conditions)
      : grid_(&grid), detector_(&detector), conditions_(&conditions) {}

  /// Start with a particle, whose crossings will be appended in the order of z.
  Next begin(const Particle& particle, std::vector<Crossing>& crossings, Leg& leg) {
    particle_ = &particle;
    crossings_ = &crossings;
    surface_ = tube_ = 0;
    hardest_ = 0.0;
    planes_ = 0;
    through_ = conditions_->last_plane < 0;
    least_energy_ = root(particle.mass * particle.mass + conditions_->least_momentum * conditions_->least_momentum);
    const double p = root(particle.px * particle.px + particle.py * particle.py + particle.pz * particle.pz);
    if (!(particle.pz > 0.0) || particle.charge == 0.0 || !(p > conditions_->least_momentum)) return Next::end;
    leg.state = {particle.x,          particle.y, particle.px / particle.pz, particle.py / particle.pz,
                 particle.charge / p, particle.z};
    return is_steep(leg.state) ? Next::end : find_goal(leg);
  }

  /// Go on at the goal of a leg.
  Next arrive(Leg& leg) {
    const State<double>& state = leg.state;
    if (planes_ < conditions_->fewest_planes && state.z > conditions_->velo_end) return Next::end;
    if (place_ == Place::tube) {
      const Tube& tube = detector_->tubes[tube_];
      const double length = tube.thickness * root(1.0 + state.tx * state.tx + state.ty * state.ty);
      const auto step = static_cast<std::uint32_t>(2 * detector_->surfaces.size() + tube_);
      ++tube_;
      return enter(tube.material, length, false, step, state);
    }
    covered_ = surface().covers(state.x, state.y);
    // The particle crosses half of the material before its state is recorded, and half afterwards. So a state describes
    // both directions of flight alike.
    return is_thick() ? enter_half(0, state) : go_through_middle(leg);
  }

  /// Go on behind the passage.
  Next leave(Leg& leg) {
    hardest_ = larger(hardest_, passage.hardest);
    if (passage.energy < least_energy_) return Next::end;
    const double mass = particle_->mass;
    leg.state.tx = passage.tx;
    leg.state.ty = passage.ty;
    leg.state.qop = particle_->charge / root(passage.energy * passage.energy - mass * mass);
    if (is_steep(leg.state)) return Next::end;
    return place_ == Place::tube ? find_goal(leg) : place_ == Place::surface ? go_through_middle(leg) : go_behind(leg);
  }

  /// End the path of the particle.
  void end() {
    if (!through_ || planes_ < conditions_->fewest_planes) crossings_->clear();
  }

 private:
  const FieldGrid* grid_;
  const Detector* detector_;
  const Conditions* conditions_;
  const Particle* particle_ = nullptr;
  std::vector<Crossing>* crossings_ = nullptr;
  std::size_t surface_ = 0, tube_ = 0;
  enum class Place { tube, surface, behind_surface } place_ = Place::surface;
  bool covered_ = false;
  double hardest_ = 0.0;  // largest scattering angle over its core's width
  double least_energy_ = 0.0;
  int planes_ = 0;  // crossed actively before the end of the VELO
  bool through_ = false;

  const Surface& surface() const { return detector_->surfaces[surface_]; }
  bool is_thick() const { return covered_ && surface().thickness > 0.0; }
  bool is_steep(const State<double>& state) const {
    return !(magnitude(state.tx) <= conditions_->steepest && magnitude(state.ty) <= conditions_->steepest);
  }

  Next find_goal(Leg& leg) {
    const std::vector<Surface>& surfaces = detector_->surfaces;
    for (; surface_ < surfaces.size(); ++surface_, tube_ = 0) {
      const Plane& plane = surface().plane;
      if (tube_ == 0 && distance_to(plane, leg.state) <= 0.0) continue;  // born behind it
      for (; tube_ < detector_->tubes.size(); ++tube_) {
        double z;
        if (!crosses(detector_->tubes[tube_], plane, leg.state, z)) continue;
        place_ = Place::tube;
        leg.goal = {z, 0.0, 0.0};
        return Next::leg;
      }
      place_ = Place::surface;
      leg.goal = plane;
      return Next::leg;
    }
    return Next::end;
  }

  /// Cross a layer, or half of it; `length` is the path in mm through the whole layer.
  Next enter(int material, double length, bool half, std::uint32_t step, const State<double>& state) {
    passage = {particle_, material, length, half, step, magnitude(particle_->charge / state.qop), state.tx, state.ty,
               0.0, 0.0};
    return Next::layer;
  }

  Next enter_half(std::uint32_t number, const State<double>& state) {
    return enter(surface().material, surface().thickness * obliquity(surface().plane, state), true,
                 static_cast<std::uint32_t>(2 * surface_) + number, state);
  }

  Next go_through_middle(Leg& leg) {
    record(surface(), covered_, leg.state);
    if (leg.state.z > particle_->z_end) return Next::end;
    place_ = Place::behind_surface;
    return is_thick() ? enter_half(1, leg.state) : go_behind(leg);
  }

  Next go_behind(Leg& leg) {
    ++surface_;
    tube_ = 0;
    return find_goal(leg);
  }

  /// Whether the wall of a tube is on the way to a plane. The tangent determines the crossing.
  static bool crosses(const Tube& tube, const Plane& goal, const State<double>& state, double& z) {
    if (state.z > tube.z_max || std::abs(state.x) > tube.radius || std::abs(state.y) > tube.radius) return false;
    if (state.x * state.x + state.y * state.y > 0.999 * 0.999 * tube.radius * tube.radius) return false;
    const double slope2 = state.tx * state.tx + state.ty * state.ty;
    if (slope2 == 0.0) return false;
    // (x + tx s)^2 + (y + ty s)^2 = radius^2
    const double along = (state.x * state.tx + state.y * state.ty) / slope2;
    const double rest = (state.x * state.x + state.y * state.y - tube.radius * tube.radius) / slope2;
    const double s = -along + std::sqrt(along * along - rest);
    z = state.z + s;
    return !(s >= distance_to(goal, state) || z < tube.z_min || z > tube.z_max);
  }

  void record(const Surface& surface, bool covered, const State<double>& state) {
    // VELO sensors are small, so that only crossings of sensors are recorded. Other planes record crossings everywhere.
    if (surface.plane_index < 0 || (surface.only_covered && !covered)) return;
    const bool first = append(surface.plane_index, covered, state);
    if (surface.companion_index < 0) return;
    State<double> companion = state;
    if (!propagate(*grid_, surface.companion, conditions_->tolerance, companion)) return;
    const bool second = append(surface.companion_index, true, companion);
    if (first && second && companion.z < state.z)
      std::swap((*crossings_)[crossings_->size() - 1], (*crossings_)[crossings_->size() - 2]);
  }

  /// Append a crossing, unless the particle has ended before.
  bool append(int plane, bool active, const State<double>& state) {
    if (state.z > particle_->z_end) return false;
    if (active && state.z <= conditions_->velo_end) ++planes_;
    if (active && plane == conditions_->last_plane) through_ = true;
    crossings_->push_back({particle_->event, particle_->number, static_cast<std::int16_t>(plane), active, state.z,
                           state.x, state.y, state.tx, state.ty, std::abs(particle_->charge / state.qop), hardest_});
    return true;
  }
};

/// Particles `first` … `last` - 1 of an array, several of them at a time. Their crossings are in the order of the
/// particles.
class Walks final : public Legs {
 public:
  Walks(const Build& build, const FieldGrid& grid, const Detector& detector, const Conditions& conditions,
        const std::vector<Particle>& particles, std::size_t first, std::size_t last)
      : build_(build), detector_(detector), conditions_(conditions), particles_(particles),
        walk_(grid, detector, conditions), first_(first), last_(last), next_(first), crossings_(last - first) {}

  int begin(Journey* journeys, int most) override {
    walks_.assign(static_cast<std::size_t>(most), walk_);
    int count = 0;
    while (count < most && begin_next(count, journeys[count])) ++count;
    return count;
  }

  int go_on(Journey* journeys, int count) override {
    for (int i = 0; i < count; ++i)
      follow(journeys[i], journeys[i].there ? walk_of(journeys[i]).arrive(journeys[i].leg) : Next::end);
    while (!in_layer_.empty()) {
      passages_.clear();
      for (const Journey* journey : in_layer_) passages_.push_back(&walk_of(*journey).passage);
      build_.traverse(detector_, conditions_.seed, passages_.data(), static_cast<int>(passages_.size()));
      passed_.swap(in_layer_);
      in_layer_.clear();
      for (Journey* journey : passed_) follow(*journey, walk_of(*journey).leave(journey->leg));
    }
    const auto under_way = std::remove_if(journeys, journeys + count, [](const Journey& j) { return !j.there; });
    return static_cast<int>(under_way - journeys);
  }

  /// Crossings of each particle.
  std::vector<std::vector<Crossing>> take() { return std::move(crossings_); }

 private:
  const Build& build_;
  const Detector& detector_;
  const Conditions& conditions_;
  const std::vector<Particle>& particles_;
  const Walk walk_;  // as every traveller begins
  std::size_t first_, last_, next_;
  std::vector<std::vector<Crossing>> crossings_;  // of each particle
  std::vector<Walk> walks_;                       // of the travellers
  std::vector<Journey*> in_layer_, passed_;
  std::vector<Passage*> passages_;

  Walk& walk_of(const Journey& journey) { return walks_[static_cast<std::size_t>(journey.traveller)]; }

  /// Go on with a journey; `there` is then whether there is a leg.
  void follow(Journey& journey, Next next) {
    journey.there = next == Next::leg;
    if (next == Next::layer) in_layer_.push_back(&journey);
    if (next != Next::end) return;
    walk_of(journey).end();
    begin_next(journey.traveller, journey);
  }

  bool begin_next(int traveller, Journey& journey) {
    journey.traveller = traveller;
    journey.there = false;
    while (next_ < last_ && !journey.there) {
      const std::size_t i = next_++;
      journey.there = walk_of(journey).begin(particles_[i], crossings_[i - first_], journey.leg) == Next::leg;
    }
    return journey.there;
  }
};

}  // namespace parkf::transport
