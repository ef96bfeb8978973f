#pragma once
// Multiple scattering, energy loss and radiation in a thin layer of one material.

#include <algorithm>
#include <cmath>

#include "numbers/functions.hpp"
#include "numbers/random.hpp"

namespace parkf::transport {

constexpr double electron_mass = 0.51099895;  // MeV

struct Material {
  double atomic_number = 0.0;     // mean, for the shape of the scattering's tail
  double density = 0.0;           // g/cm3
  double z_over_a = 0.0;          // mol/g
  double radiation_length = 0.0;  // mm
  double excitation = 0.0;        // MeV, mean excitation energy
  // Sternheimer's density effect
  double x0 = 0.0, x1 = 0.0, a = 0.0, k = 0.0, c = 0.0;
};

/// Quantities of a particle, or of several in lanes, that determine the energy loss.
template <class T>
struct Kinematics {
  T beta2, gamma2, most_transfer;  // the last in MeV, to one electron

  KERNEL_FUNCTION Kinematics(const T& p, double mass) {
    const T energy2 = p * p + mass * mass;
    beta2 = p * p / energy2;
    gamma2 = energy2 / (mass * mass);
    const double ratio = electron_mass / mass;
    most_transfer = 2.0 * electron_mass * beta2 * gamma2 / (1.0 + 2.0 * root(gamma2) * ratio + ratio * ratio);
  }
};

/// Landau's scale xi in MeV for a unit charge (PDG, Passage of particles through matter, 34.2).
template <class T>
KERNEL_FUNCTION T landau_scale(const Material& material, const T& length, const Kinematics<T>& kinematics) {
  constexpr double half_k = 0.5 * 0.307075;  // MeV cm2 / mol
  return half_k * material.z_over_a * material.density * 0.1 * length / kinematics.beta2;
}

/// delta(beta gamma) of the density effect in Sternheimer's form.
template <class T>
KERNEL_FUNCTION T density_effect(const Material& material, const Kinematics<T>& kinematics) {
  const T x = 0.5 * decimal_logarithm(T(kinematics.beta2 * kinematics.gamma2));
  T result = 2.0 * 2.302585092994046 * x - material.c;
  const Mask<T> bent = x < T(material.x1);
  if (any(bent)) result = select(bent, T(result + material.a * power(T(material.x1 - x), material.k)), result);
  return select(x < T(material.x0), T(0.0), result);
}

/// Mean loss of energy in MeV over a length in mm: Bethe's formula.
template <class T>
KERNEL_FUNCTION T mean_loss(const Material& material, const T& length, const Kinematics<T>& kinematics) {
  const T bracket = logarithm(T(2.0 * electron_mass * kinematics.beta2 * kinematics.gamma2 * kinematics.most_transfer /
                                (material.excitation * material.excitation))) -
                    2.0 * kinematics.beta2 - density_effect(material, kinematics);
  return larger(T(landau_scale(material, length, kinematics) * bracket), T(0.0));
}

/// The loss of energy by collisions that cost no more than `cut` MeV each: mean in MeV, variance in MeV^2.
///
/// The rate of collisions with electrons that cost T MeV is proportional to 1/T^2 (1 - beta^2 T/T_max) (PDG, Passage of
/// particles through matter, 34.2.3 and 34.2.7). Without a cut the mean is Bethe's.
template <class T>
KERNEL_FUNCTION void restricted_loss(const Material& material, const T& length, const Kinematics<T>& kinematics,
                                     const T& cut, T& mean, T& variance) {
  const T largest = smaller(cut, kinematics.most_transfer);
  const T share = largest / kinematics.most_transfer;
  const T scale = landau_scale(material, length, kinematics);
  const T above = scale * (-logarithm(share) - kinematics.beta2 * (1.0 - share));
  mean = larger(T(mean_loss(material, length, kinematics) - above), T(0.0));
  variance = scale * largest * (1.0 - 0.5 * kinematics.beta2 * share);
}

/// Draw a number from Landau's distribution, exactly. This distribution is the maximally skewed stable law of index one
/// (Chambers, Mallows and Stuck, J. Am. Stat. Assoc. 71 (1976) 340).
inline double landau(Random& random) {
  constexpr double half_pi = 1.5707963267948966;
  const double angle = 2.0 * half_pi * (random.uniform() - 0.5);
  const double shifted = half_pi + angle;
  return shifted * std::tan(angle) + std::log(shifted / (random.exponential() * std::cos(angle)));
}

/// Draw the loss of one particle in MeV. Landau's distribution is cut where the mean of the rest is Bethe's. With many
/// collisions near the largest transfer, the distribution is normal.
inline double sampled_loss(const Material& material, double length, const Kinematics<double>& kinematics,
                           Random& random) {
  const double mean = mean_loss(material, length, kinematics);
  const double scale = landau_scale(material, length, kinematics);
  const double kappa_ratio = scale / kinematics.most_transfer;
  if (kappa_ratio > 0.3) {
    const double sigma = std::sqrt(scale * kinematics.most_transfer * (1.0 - 0.5 * kinematics.beta2));
    return std::max(mean + sigma * random.normal(), 0.0);
  }
  constexpr double one_minus_euler = 0.4227843350984671;
  const double mean_lambda = -one_minus_euler - kinematics.beta2 - std::log(kappa_ratio);
  double lambda = landau(random);
  // The cut is larger than its logarithm, which is larger than mean_lambda. Most numbers are so small that nobody needs
  // the cut itself.
  if (lambda > mean_lambda) {
    // The cut that leaves the mean mean_lambda: its limit for thin layers, times a fit to the numerical solution for
    // -0.25 < mean_lambda < 12, which is good to 0.007 in the logarithm.
    const double correction = (0.2516 + 0.6333 * mean_lambda) * std::exp(-0.962 * mean_lambda);
    const double cut = std::exp(mean_lambda + one_minus_euler + correction);
    while (lambda > cut) lambda = landau(random);
  }
  return std::max(mean + scale * (lambda - mean_lambda), 0.0);
}

/// Draw the share of its energy that an electron keeps when it radiates in a thickness of some radiation lengths.
///
/// Photons that take the share y of the energy have the rate 4/(3y) - 4/3 + y per radiation length (PDG, Passage of
/// particles through matter, 34.4.2: complete screening). Photons below the smallest share are not drawn one by one;
/// together they take their mean.
inline double kept_in_radiation(double thickness, Random& random) {
  constexpr double smallest = 1e-3, log_smallest = -6.907755278982137;
  constexpr double photons = 4.0 / 3.0 * (-log_smallest - (1.0 - smallest)) + 0.5 * (1.0 - smallest * smallest);
  double kept = 1.0 - 4.0 / 3.0 * thickness * smallest;
  for (double depth = random.exponential(); depth < thickness * photons; depth += random.exponential()) {
    double y = 0.0;
    do y = std::exp(log_smallest * random.uniform());
    while (random.uniform() > 1.0 - y + 0.75 * y * y);
    kept *= 1.0 - y;
  }
  return kept;
}

/// Width of the projected angle's core for a traversed thickness in radiation lengths: Highland's formula. `whole` is
/// the thickness of the layer, for the logarithm; `thickness` may be half of it.
template <class T>
KERNEL_FUNCTION T highland(const T& thickness, const T& whole, const T& p, const T& beta2) {
  return 13.6 / p * root(T(thickness / beta2)) * (1.0 + 0.038 * logarithm(T(whole / beta2)));
}

/// Quantities of a material that shape the tail of its scattering (Fruehwirth and Liendl, Comput. Phys. Commun. 141
/// (2001) 230).
struct ScatteringShape {
  double thick;       // in radiation lengths over beta2, from here on without single scatters
  double log_charge;  // of the atomic number
  double cube_root, per_scatter, rho, log_rho, tenth_root;
  double log_scatters, log_reach;  // of thin layers: of scatters for a unit thickness; of b times their root

  explicit ScatteringShape(const Material& material) {
    const double charge = material.atomic_number;
    thick = 0.6 / std::pow(charge, 0.6);
    log_charge = std::log(charge);
    cube_root = std::cbrt(charge);
    per_scatter = (charge + 1.0) * std::log(287.0 / std::sqrt(charge));
    rho = 41000.0 / std::cbrt(charge * charge);
    log_rho = std::log(rho);
    tenth_root = std::pow(charge, 0.1);
    log_scatters = std::log(1.587e7 * cube_root / per_scatter);
    log_reach = log_rho - 0.5 * std::log(log_rho - 0.5);
  }
};

/// Draw the space angle of a scattering whose core has the projected width `core`, from a normal core and a tail.
inline double scattering_angle(const ScatteringShape& shape, double thickness, double beta2, double core,
                               Random& random) {
  const double reduced = thickness / beta2;
  const double choice = random.uniform();
  const double u = random.uniform();
  if (reduced > shape.thick) {  // two normal components
    const double d1 = std::log(reduced);
    const double d2 = d1 + shape.log_charge * (2.0 / 3.0);
    const double core_variance = (-1.843e-3 * d1 + 3.347e-2) * d1 + 8.471e-1;
    const double tail = d2 < 0.5 ? (6.096e-4 * d2 + 6.348e-3) * d2 + 4.841e-2
                                 : (-5.729e-3 * d2 + 1.106e-1) * d2 - 1.908e-2;
    const double tail_variance = (1.0 - (1.0 - tail) * core_variance) / tail;
    const double variance = choice < tail ? tail_variance / core_variance : 1.0;
    return core * std::sqrt(-2.0 * variance * std::log(u));
  }
  // In a thin layer there is a normal core, and a tail that falls with the fourth power, from single scatters off
  // nuclei.
  const double scatters = reduced * 1.587e7 * shape.cube_root / shape.per_scatter;
  const double b = shape.rho / std::sqrt(scatters * (shape.log_rho - 0.5));
  const double n = shape.tenth_root * std::log(scatters);
  const double core_variance = (5.783e-4 * n + 3.803e-2) * n + 1.827e-1;
  const double a = (((-4.590e-5 * n + 1.330e-3) * n - 1.355e-2) * n + 9.828e-2) * n + 2.822e-1;
  const double tail = (1.0 - core_variance) / (a * a * (std::log(b / a) - 0.5) - core_variance);
  if (choice < tail) return core / std::sqrt(core_variance) * a * b * std::sqrt((1.0 - u) / (u * b * b + a * a));
  return core * std::sqrt(-2.0 * std::log(u));
}

/// Variance of the projected angle for scatterings by a space angle below `cut` core widths, in units of the core's
/// variance.
///
/// The mixture is that of scattering_angle for thin layers. The tail's variance grows with the logarithm of the cut.
template <class T>
KERNEL_FUNCTION T variance_below(const ScatteringShape& shape, const T& thickness, const T& beta2, const T& cut) {
  const T log_scatters = logarithm(smaller(T(thickness / beta2), T(shape.thick))) + shape.log_scatters;
  const T n = shape.tenth_root * log_scatters;
  const T core_variance = (5.783e-4 * n + 3.803e-2) * n + 1.827e-1;
  const T a = (((-4.590e-5 * n + 1.330e-3) * n - 1.355e-2) * n + 9.828e-2) * n + 2.822e-1;
  const T a2 = a * a, log_b = shape.log_reach - 0.5 * log_scatters;
  const T tail = (1.0 - core_variance) / (a2 * (log_b - 0.5 * logarithm(a2) - 0.5) - core_variance);
  const T reach = cut * cut * core_variance / a2;
  return 1.0 + tail * (0.5 * a2 / core_variance * (logarithm(T(1.0 + reach)) - reach / (1.0 + reach)) - 1.0);
}

}  // namespace parkf::transport
