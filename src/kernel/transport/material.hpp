#pragma once
// Multiple scattering, energy loss and radiation in a thin layer of one material.

#include "numbers/random.hpp"

namespace parkf::transport {

constexpr double electron_mass = 0.51099895;  // MeV

/// One material, or that of each lane.
template <class T>
struct MaterialOf {
  T atomic_number;     // mean, for the shape of the scattering's tail
  T density;           // g/cm3
  T z_over_a;          // mol/g
  T radiation_length;  // mm
  T excitation;        // MeV, mean excitation energy
  T x0, x1, a, k, c;   // Sternheimer's density effect
};
using Material = MaterialOf<double>;

/// Quantities of a particle, or of several in lanes, that determine the energy loss.
template <class T>
struct Kinematics {
  T beta2, gamma2, most_transfer;  // the last in MeV, to one electron

  /// The mass may be one for all lanes.
  template <class Mass>
  KERNEL_FUNCTION Kinematics(const T& p, const Mass& mass) {
    const T energy2 = p * p + mass * mass;
    beta2 = p * p / energy2;
    gamma2 = energy2 / (mass * mass);
    const Mass ratio = electron_mass / mass;
    most_transfer = 2.0 * electron_mass * beta2 * gamma2 / (1.0 + 2.0 * root(gamma2) * ratio + ratio * ratio);
  }
};

/// Landau's scale xi in MeV for a unit charge (PDG, Passage of particles through matter, 34.2).
template <class T, class M>
KERNEL_FUNCTION T landau_scale(const MaterialOf<M>& material, const T& length, const Kinematics<T>& kinematics) {
  constexpr double half_k = 0.5 * 0.307075;  // MeV cm2 / mol
  return half_k * material.z_over_a * material.density * 0.1 * length / kinematics.beta2;
}

/// delta(beta gamma) of the density effect in Sternheimer's form.
template <class T, class M>
KERNEL_FUNCTION T density_effect(const MaterialOf<M>& material, const Kinematics<T>& kinematics) {
  const T x = 0.5 * decimal_logarithm(T(kinematics.beta2 * kinematics.gamma2));
  T result = 2.0 * 2.302585092994046 * x - material.c;
  const Mask<T> bent = x < T(material.x1);
  if (any(bent)) result = select(bent, T(result + material.a * power(T(material.x1 - x), material.k)), result);
  return select(x < T(material.x0), T(0.0), result);
}

/// Mean loss of energy in MeV over a length in mm: Bethe's formula.
template <class T, class M>
KERNEL_FUNCTION T mean_loss(const MaterialOf<M>& material, const T& length, const Kinematics<T>& kinematics) {
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

/// A number of Landau's distribution, exactly, from two uniform ones. This distribution is the maximally skewed stable
/// law of index one (Chambers, Mallows and Stuck, J. Am. Stat. Assoc. 71 (1976) 340).
template <class T>
KERNEL_FUNCTION T landau(const T& first, const T& second) {
  const Angle<T> angle = turned(T(0.5 * (first - 0.5)));
  const T shifted = 0.5 * two_pi * first;
  return shifted * angle.sine / angle.cosine + logarithm(T(shifted / (-logarithm(second) * angle.cosine)));
}

/// A number of the normal distribution: one of the pair of Box and Muller.
template <class T>
KERNEL_FUNCTION T normal(const T& first, const T& second) {
  return root(T(-2.0 * logarithm(first))) * turned(second).cosine;
}

/// Landau's distribution of losses, which is cut where the mean of the rest is Bethe's.
template <class T>
struct Losses {
  static constexpr double one_minus_euler = 0.4227843350984671;
  T mean, scale, mean_lambda;  // the first two in MeV

  KERNEL_FUNCTION Losses(const MaterialOf<T>& material, const T& length, const Kinematics<T>& kinematics)
      : mean(mean_loss(material, length, kinematics)), scale(landau_scale(material, length, kinematics)) {
    mean_lambda = -one_minus_euler - kinematics.beta2 - logarithm(T(scale / kinematics.most_transfer));
  }

  /// The cut that leaves the mean mean_lambda: its limit for thin layers, times a fit to the numerical solution for
  /// -0.25 < mean_lambda < 12, which is good to 0.007 in the logarithm.
  KERNEL_FUNCTION T cut() const {
    return antilogarithm(T(limit() + (0.2516 + 0.6333 * mean_lambda) * antilogarithm(T(-0.962 * mean_lambda))));
  }
  /// A number below the cut: the first terms of the limit's power series.
  KERNEL_FUNCTION T below_cut() const {
    const T x = larger(limit(), T(0.0));
    return 1.0 + x * (1.0 + x * (0.5 + x * (1.0 / 6.0)));
  }

  KERNEL_FUNCTION T of(const T& lambda) const { return larger(T(mean + scale * (lambda - mean_lambda)), T(0.0)); }

  /// With many collisions near the largest transfer, the distribution is normal instead.
  KERNEL_FUNCTION Mask<T> are_normal(const Kinematics<T>& kinematics) const {
    return scale > 0.3 * kinematics.most_transfer;
  }
  KERNEL_FUNCTION T of_normal(const Kinematics<T>& kinematics, const T& number) const {
    const T sigma = root(T(scale * kinematics.most_transfer * (1.0 - 0.5 * kinematics.beta2)));
    return larger(T(mean + sigma * number), T(0.0));
  }

 private:
  /// Logarithm of the cut for thin layers.
  KERNEL_FUNCTION T limit() const { return mean_lambda + one_minus_euler; }
};

// The rate of photons that take the share y of an electron's energy is 4/(3y) - 4/3 + y per radiation length (PDG,
// Passage of particles through matter, 34.4.2: complete screening). Photons below the smallest share are not drawn one
// by one; together they take their mean.
constexpr double smallest_photon = 1e-3, log_smallest_photon = -6.907755278982137;
constexpr double photons = 4.0 / 3.0 * (-log_smallest_photon - (1.0 - smallest_photon)) +
                           0.5 * (1.0 - smallest_photon * smallest_photon);  // in a radiation length

/// The share of its energy that an electron keeps in a thickness of some radiation lengths, without single photons.
template <class T>
KERNEL_FUNCTION T kept_without_photons(const T& thickness) {
  return 1.0 - 4.0 / 3.0 * thickness * smallest_photon;
}

/// Draw the share that it keeps when it radiates single photons. The first one is at `depth`, a number of an exponential
/// distribution.
inline double kept_in_photons(double thickness, double depth, Random<double>& random) {
  double kept = 1.0;
  for (; depth < thickness * photons; depth += random.exponential()) {
    double y = 0.0;
    do y = antilogarithm(log_smallest_photon * random.uniform());
    while (random.uniform() > 1.0 - y + 0.75 * y * y);
    kept *= 1.0 - y;
  }
  return kept;
}

/// Width of the projected angle's core: Highland's formula. `reduced` is the traversed thickness in radiation lengths
/// over beta2; `log_whole` is the logarithm of that of the whole layer, of which only a part may be traversed.
template <class T>
KERNEL_FUNCTION T highland(const T& reduced, const T& log_whole, const T& p) {
  return 13.6 / p * root(reduced) * (1.0 + 0.038 * log_whole);
}

/// Quantities of a material, or of that of each lane, that shape the tail of its scattering (Fruehwirth and Liendl,
/// Comput. Phys. Commun. 141 (2001) 230).
template <class T>
struct ScatteringShapeOf {
  T log_thick;     // of radiation lengths over beta2, from here on without single scatters
  T log_charge;    // of the atomic number
  T tenth_root;    // of the atomic number
  T log_scatters;  // of thin layers, for a unit thickness
  T log_reach;     // of b times the root of the scatters
  T reach2;        // b squared, for a unit thickness
};
using ScatteringShape = ScatteringShapeOf<double>;

inline ScatteringShape scattering_shape(const Material& material) {
  const double log_charge = logarithm(material.atomic_number);
  const double per_scatter = (material.atomic_number + 1.0) * (logarithm(287.0) - 0.5 * log_charge);
  const double log_rho = logarithm(41000.0) - log_charge * (2.0 / 3.0);
  const double log_scatters = logarithm(1.587e7 / per_scatter) + log_charge * (1.0 / 3.0);
  const double log_reach = log_rho - 0.5 * logarithm(log_rho - 0.5);
  return {logarithm(0.6) - 0.6 * log_charge, log_charge, antilogarithm(0.1 * log_charge),
          log_scatters, log_reach, antilogarithm(2.0 * log_reach - log_scatters)};
}

/// The tail of scatterings in a thin layer, from single scatters off nuclei. It falls with the fourth power.
template <class T>
struct ScatteringTail {
  T core_variance;  // of the normal core
  T a2, log_b;      // where the tail begins and ends, in core widths: a, squared, and ln b
  T share;

  template <class S>
  KERNEL_FUNCTION ScatteringTail(const ScatteringShapeOf<S>& shape, const T& log_reduced) {
    const T log_scatters = log_reduced + shape.log_scatters;
    const T n = shape.tenth_root * log_scatters;
    core_variance = (5.783e-4 * n + 3.803e-2) * n + 1.827e-1;
    const T a = (((-4.590e-5 * n + 1.330e-3) * n - 1.355e-2) * n + 9.828e-2) * n + 2.822e-1;
    a2 = a * a;
    log_b = shape.log_reach - 0.5 * log_scatters;
    share = (1.0 - core_variance) / (a2 * (log_b - 0.5 * logarithm(a2) - 0.5) - core_variance);
  }
};

/// The space angle of a scattering whose core has the projected width `core`, from a normal core and a tail, with two
/// uniform numbers: `choice` and `u`. The thickness is in radiation lengths over beta2.
template <class T>
KERNEL_FUNCTION T scattering_angle(const ScatteringShapeOf<T>& shape, const T& reduced, const T& log_reduced,
                                   const T& core, const T& choice, const T& u) {
  const T square = -2.0 * logarithm(u);
  // A thick layer has two normal components.
  const T d1 = log_reduced, d2 = d1 + shape.log_charge * (2.0 / 3.0);
  const T core_variance = (-1.843e-3 * d1 + 3.347e-2) * d1 + 8.471e-1;
  const T tail = select(d2 < T(0.5), T((6.096e-4 * d2 + 6.348e-3) * d2 + 4.841e-2),
                        T((-5.729e-3 * d2 + 1.106e-1) * d2 - 1.908e-2));
  const T tail_variance = (1.0 - (1.0 - tail) * core_variance) / tail;
  const T thick = root(select(choice < tail, T(tail_variance / core_variance * square), square));
  const ScatteringTail<T> thin(shape, log_reduced);
  const T b2 = shape.reach2 / reduced;
  const T far = root(T(thin.a2 * b2 / thin.core_variance * (1.0 - u) / (u * b2 + thin.a2)));
  return core * select(log_reduced > shape.log_thick, thick, select(choice < thin.share, far, root(square)));
}

/// Variance of the projected angle for scatterings by a space angle below `cut` core widths, in units of the core's
/// variance.
///
/// The mixture is that of scattering_angle for thin layers. The tail's variance grows with the logarithm of the cut.
template <class T>
KERNEL_FUNCTION T variance_below(const ScatteringShape& shape, const T& log_reduced, const T& cut) {
  const ScatteringTail<T> tail(shape, smaller(log_reduced, T(shape.log_thick)));
  const T reach = cut * cut * tail.core_variance / tail.a2;
  return 1.0 + tail.share * (0.5 * tail.a2 / tail.core_variance *
                                 (logarithm(T(1.0 + reach)) - reach / (1.0 + reach)) - 1.0);
}

}  // namespace parkf::transport
