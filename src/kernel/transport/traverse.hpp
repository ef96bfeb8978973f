#pragma once
// Particles cross layers of material, one in each lane: they scatter, and lose energy.

#include <cmath>

#include "transport/detector.hpp"
#include "transport/nuclear.hpp"
#include "transport/passage.hpp"

namespace parkf::transport {

constexpr double heaviest_lepton = 110.0;  // MeV; hadrons are heavier

/// Turn directions by space angles towards azimuths.
template <class T>
KERNEL_FUNCTION void deflect(T& tx, T& ty, const Angle<T>& angle, const Angle<T>& azimuth) {
  const T norm = root(T(1.0 + tx * tx + ty * ty));
  const T x = tx / norm, y = ty / norm, z = 1.0 / norm;
  // Two axes across the direction; it is never along x here. The second is (0, z, -y) / across.
  const T across = root(T(y * y + z * z));
  const T first = angle.sine * azimuth.cosine, second = angle.sine * azimuth.sine / across;
  const T along = angle.cosine - first * x / across;
  const T turned_z = along * z - second * y;
  tx = (angle.cosine * x + first * across) / turned_z;
  ty = (along * y + second * z) / turned_z;
}

static void traverse_alone(std::uint64_t seed, const Detector& detector, Passage& passage);

/// Where the numbers of each lane come from, and go.
template <class T>
class Passages {
 public:
  static constexpr int lanes = Number<T>::lanes;

  /// The lanes behind the last passage repeat it.
  KERNEL_FUNCTION Passages(const Detector& detector, Passage* const* passages, int count)
      : detector_(detector), count_(count) {
    for (int i = 0; i < lanes; ++i) {
      const Passage& passage = *passages[i < count ? i : count - 1];
      const auto number = static_cast<std::size_t>(passage.material);
      of_[i] = passages[i < count ? i : count - 1];
      materials_[i] = &detector.materials[number];
      shapes_[i] = &detector.shapes[number];
    }
  }

  template <class Get>
  KERNEL_FUNCTION T load(const Get& get) const {
    T result;
    for (int i = 0; i < lanes; ++i) put(result, i, get(*of_[i]));
    return result;
  }
  template <class Get>
  KERNEL_FUNCTION Words<T> words(const Get& get) const {
    alignas(64) std::uint64_t words[lanes];
    for (int i = 0; i < lanes; ++i) words[i] = static_cast<std::uint32_t>(get(*of_[i]));
    Words<T> result;
    __builtin_memcpy(&result, words, sizeof(result));
    return result;
  }
  KERNEL_FUNCTION MaterialOf<T> materials() const { return joined<MaterialOf<T>>(materials_); }
  KERNEL_FUNCTION ScatteringShapeOf<T> shapes() const { return joined<ScatteringShapeOf<T>>(shapes_); }

  /// Store the results. Particles to which something rare happens are treated alone instead.
  KERNEL_FUNCTION void store(std::uint64_t seed, const Mask<T>& rare, const T& tx, const T& ty, const T& energy,
                             const T& hardest) const {
    for (int i = 0; i < count_; ++i) {
      if constexpr (lanes > 1) {
        if (rare.bits[i]) {
          traverse_alone(seed, detector_, *of_[i]);
          continue;
        }
      }
      of_[i]->tx = lane_of(tx, i);
      of_[i]->ty = lane_of(ty, i);
      of_[i]->energy = lane_of(energy, i);
      of_[i]->hardest = lane_of(hardest, i);
    }
  }

 private:
  const Detector& detector_;
  Passage* of_[lanes];
  const Material* materials_[lanes];
  const ScatteringShape* shapes_[lanes];
  int count_;

  /// The numbers of each lane's struct, in a struct of the same members.
  template <class Result, class One>
  KERNEL_FUNCTION static Result joined(const One* const (&of)[lanes]) {
    constexpr int members = sizeof(One) / sizeof(double);
    static_assert(sizeof(Result) == members * sizeof(T));
    alignas(64) double numbers[members][lanes];
    for (int i = 0; i < lanes; ++i) {
      double one[members];
      __builtin_memcpy(one, of[i], sizeof(one));
      for (int m = 0; m < members; ++m) numbers[m][i] = one[m];
    }
    Result result;
    __builtin_memcpy(&result, numbers, sizeof(result));
    return result;
  }
};

/// Scatter and slow down the particles of some passages. Whatever is rare is done for one particle at a time.
template <class T>
KERNEL_FUNCTION void traverse(std::uint64_t seed, const Passages<T>& passages) {
  constexpr bool alone = Number<T>::lanes == 1;
  const T charge = passages.load([](const Passage& p) { return p.particle->charge; });
  const T mass = passages.load([](const Passage& p) { return p.particle->mass; });
  const T momentum = passages.load([](const Passage& p) { return p.momentum; });
  const T share = passages.load([](const Passage& p) { return p.half ? 0.5 : 1.0; });
  const T path = passages.load([](const Passage& p) { return p.length; });
  T tx = passages.load([](const Passage& p) { return p.tx; });
  T ty = passages.load([](const Passage& p) { return p.ty; });
  const MaterialOf<T> material = passages.materials();
  const Kinematics<T> kinematics(momentum, mass);
  Random<T> random(seed, passages.words([](const Passage& p) { return p.particle->event; }),
                   passages.words([](const Passage& p) { return p.particle->number; }),
                   passages.words([](const Passage& p) { return p.step; }));

  const T whole = path / material.radiation_length, thickness = share * whole;
  const T reduced = thickness / kinematics.beta2, log_reduced = logarithm(reduced);
  const T log_whole = log_reduced + select(share < T(1.0), T(ln2), T(0.0));
  const T core = magnitude(charge) * highland(reduced, log_whole, momentum);
  const T choice = random.uniform(), u = random.uniform();
  const T angle = scattering_angle(passages.shapes(), reduced, log_reduced, core, choice, u);
  T hardest = select(core > T(0.0), T(angle / core), T(0.0));
  deflect(tx, ty, turned(T(angle * (1.0 / two_pi))), turned(random.uniform()));

  const T length = share * path;
  const Losses<T> losses(material, length, kinematics);
  const T first = random.uniform(), second = random.uniform();
  T lambda = landau(first, second);
  const Mask<T> are_normal = losses.are_normal(kinematics);
  // Most numbers are so small that nobody needs the cut itself.
  Mask<T> rare = (lambda > losses.below_cut()) & !are_normal;
  if (any(rare)) {
    const T cut = losses.cut();
    rare = rare & (lambda > cut);
    if constexpr (alone) {
      for (; rare; rare = lambda > cut) {
        const double next = random.uniform();
        lambda = landau(next, random.uniform());
      }
    }
  }
  T loss = losses.of(lambda);
  if (any(are_normal)) loss = select(are_normal, losses.of_normal(kinematics, normal(first, second)), loss);
  T energy = root(T(momentum * momentum + mass * mass)) - charge * charge * loss;

  // An exponential number, -ln(last), is at least 1 - last.
  const T last = random.uniform(), paths = nuclear_paths(material, length, mass);
  const Mask<T> struck = (mass > T(heaviest_lepton)) & !(1.0 - last > paths);
  rare = rare | struck;
  if constexpr (alone) {
    if (struck && -logarithm(last) < paths) {
      const NuclearScatter nuclear = nuclear_scatter(material, momentum, random);
      hardest = larger(hardest, 2.0 * std::asin(nuclear.half_sine) / core);
      deflect(tx, ty, nuclear.angle(), turned(random.uniform()));
      energy -= nuclear.recoil;
    }
  }
  // Heavier particles radiate less by the square of their masses, a muon 40,000 times.
  const Mask<T> light = mass < T(2.0 * electron_mass);
  if (any(light)) {
    const T depth = -logarithm(last);
    rare = rare | (light & (depth < thickness * photons));
    T kept = kept_without_photons(thickness);
    if constexpr (alone) kept *= kept_in_photons(thickness, depth, random);
    energy = select(light, T(energy * kept), energy);
  }
  passages.store(seed, rare, tx, ty, energy, hardest);
}

/// Each compilation has its own copy of this function, because other copies may be for other machines.
static void traverse_alone(std::uint64_t seed, const Detector& detector, Passage& passage) {
  Passage* const one[1] = {&passage};
  traverse<double>(seed, Passages<double>(detector, one, 1));
}

}  // namespace parkf::transport
