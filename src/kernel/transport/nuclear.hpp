#pragma once
// Elastic scattering of hadrons off nuclei. What hadrons produce when they interact is not part of the transport.

#include "transport/material.hpp"

namespace parkf::transport {

struct NuclearScatter {
  double half_sine;  // sine of half of the space angle
  double recoil;     // MeV, kinetic energy of what was hit

  Angle<double> angle() const {
    return {2.0 * half_sine * root(1.0 - half_sine * half_sine), 1.0 - 2.0 * half_sine * half_sine};
  }
};

/// The number of mean paths between scatterings in a length in mm.
///
/// A nucleon scatters once in 195 g/cm2, which is the inverse of the difference of the inverse nuclear collision and
/// interaction lengths (PDG, Atomic and nuclear properties of materials: 191 in carbon, 199 in aluminium and silicon).
/// A meson's cross section is 0.6 of that (Schiz et al., Phys. Rev. D 21 (1980) 3010).
template <class T>
KERNEL_FUNCTION T nuclear_paths(const MaterialOf<T>& material, const T& length, const T& mass) {
  constexpr double nucleon = 938.9;                                        // MeV
  constexpr double nucleon_path = 195.0, meson_path = nucleon_path / 0.6;  // g/cm2
  return 0.1 * material.density * length / select(mass > T(0.9 * nucleon), T(nucleon_path), T(meson_path));
}

/// Draw the scattering of a hadron. The nucleus scatters as a whole, or one nucleon in it does. The momentum transfer t
/// then falls as exp(-slope t), with the slopes and fractions of Geant's GHEISHA (Fesefeldt, RWTH Aachen PITHA 85/02).
inline NuclearScatter nuclear_scatter(const Material& material, double p, Random<double>& random) {
  constexpr double nucleon = 938.9, atomic_unit = 931.5;  // MeV
  const double nucleons = material.atomic_number / material.z_over_a;
  const double whole_slope = 14.5 * power(nucleons, 0.66), one_slope = 10.0;  // 1/GeV2
  const double whole = power(nucleons, 1.63) / whole_slope, one = 1.4 * power(nucleons, 0.33) / one_slope;
  const bool as_whole = random.uniform() * (whole + one) < whole;
  const double t = 1e6 * random.exponential() / (as_whole ? whole_slope : one_slope);  // MeV2
  // Angles above 1 rad would turn every particle beyond the slopes that are followed, and some of them backwards.
  constexpr double largest = 0.479425538604203;
  return {smaller(0.5 * root(t) / p, largest), 0.5 * t / (as_whole ? nucleons * atomic_unit : nucleon)};
}

}  // namespace parkf::transport
