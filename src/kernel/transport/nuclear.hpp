#pragma once
// Elastic scattering of hadrons off nuclei. What hadrons produce when they interact is not part of the transport.

#include <algorithm>
#include <cmath>

#include "numbers/random.hpp"
#include "transport/material.hpp"

namespace parkf::transport {

struct NuclearScatter {
  double angle = 0.0;   // space angle; 0 without a scattering
  double recoil = 0.0;  // MeV, kinetic energy of what was hit
};

/// Draw what happens to a hadron in a length in mm: mostly nothing.
///
/// A nucleon scatters once in 195 g/cm2, which is the inverse of the difference of the inverse nuclear collision and
/// interaction lengths (PDG, Atomic and nuclear properties of materials: 191 in carbon, 199 in aluminium and silicon).
/// A meson's cross section is 0.6 of that (Schiz et al., Phys. Rev. D 21 (1980) 3010). The nucleus scatters as a whole,
/// or one nucleon in it does. The momentum transfer t then falls as exp(-slope t), with the slopes and fractions of
/// Geant's GHEISHA (Fesefeldt, RWTH Aachen PITHA 85/02).
inline NuclearScatter nuclear_scatter(const Material& material, double length, double p, double mass, Random& random) {
  constexpr double nucleon = 938.9, atomic_unit = 931.5;            // MeV
  constexpr double nucleon_path = 195.0, meson_path = nucleon_path / 0.6;  // g/cm2
  const double path = mass > 0.9 * nucleon ? nucleon_path : meson_path;
  // Nothing happens if a number with an exponential distribution, -log(choice), is larger than this. A logarithm is only
  // needed where -log(choice) >= 1 - choice does not decide.
  const double paths = 0.1 * material.density * length / path, choice = random.uniform();
  if (1.0 - choice > paths || -std::log(choice) > paths) return {};
  const double nucleons = material.atomic_number / material.z_over_a;
  const double whole_slope = 14.5 * std::pow(nucleons, 0.66), one_slope = 10.0;  // 1/GeV2
  const double whole = std::pow(nucleons, 1.63) / whole_slope, one = 1.4 * std::pow(nucleons, 0.33) / one_slope;
  const bool as_whole = random.uniform() * (whole + one) < whole;
  const double t = 1e6 * random.exponential() / (as_whole ? whole_slope : one_slope);  // MeV2
  // A larger angle turns every particle beyond the slopes that are followed, and some of them backwards.
  constexpr double largest_angle = 1.0;
  const double angle = 2.0 * std::asin(std::min(0.5 * std::sqrt(t) / p, std::sin(0.5 * largest_angle)));
  return {angle, 0.5 * t / (as_whole ? nucleons * atomic_unit : nucleon)};
}

}  // namespace parkf::transport
