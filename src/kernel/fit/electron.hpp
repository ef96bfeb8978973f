#pragma once
// The momentum of an electron: what it radiated, given a fit of it as a pion.
//
// Photons that are radiated in front of the magnet change no direction, and the magnet measures the momentum behind
// them. With u = ln(p where it was produced / p behind), the density of u is a mixture of two components:
//
// - little radiation: a gamma distribution of shape 1/2, as the loss in a small part of a radiation length has. It is
//   an average of exponentials whose means are its scale times cos² of an angle, uniform from 0 to π/2;
// - hard radiation: an exponential.
//
// Each exponential is folded with the Gaussian of the fit. Weight and scales depend on how many modules of the VELO the
// electron crossed, and on how much the field in front of the UT bent it more or less than the magnet did. The density
// is that of electrons whose ln p is uniform: the spectrum of the electrons is not in the numbers.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace parkf::electron {

constexpr int soft_nodes = 4;
constexpr double half_pi = 1.5707963267948966, root_half = 0.70710678118654752, root_two_pi = 2.5066282746310002;
constexpr double mean_modules = 9.0, modules_unit = 4.0;
// Width of q/p behind the UT over q/p in front, less one, among electrons: how much a measurement of it counts.
constexpr double turn_spread = 0.3;
constexpr double least_log = -25.0, most_log = 2.0;  // of a scale; far outside of all that is trained

/// A trained number, and what multiplies it.
struct Name {
  const char* set;
  const char* name;
  const char* text;
};

/// The numbers in their order.
constexpr Name names[] = {
    {"weight of little radiation", "w0", "log odds that an electron radiates little, nine VELO hits and no UT hits"},
    {"weight of little radiation", "w_modules", "their change with (VELO hits - 9)/4"},
    {"weight of little radiation", "w_sure", "their change with how well the UT measures q/p, 0 to 1"},
    {"weight of little radiation", "w_turn", "their change with q/p in the UT over q/p in the magnet, less one"},
    {"little radiation", "s0", "ln of the scale of the loss in ln p"},
    {"little radiation", "s_modules", "its change with (VELO hits - 9)/4"},
    {"little radiation", "s_turn", "its change with q/p in the UT over q/p in the magnet, less one"},
    {"hard radiation", "h0", "ln of the mean loss in ln p"},
    {"hard radiation", "h_sure", "its change with how well the UT measures q/p, 0 to 1"},
    {"hard radiation", "h_turn", "its change with q/p in the UT over q/p in the magnet, less one"},
    {"fit", "shift", "ln p of the fit less that behind the radiation"},
    {"fit", "width", "factor on the error of q/p"},
    {"estimate", "surely", "median loss in ln p from which on p is the median, below it the most probable value"},
};
constexpr int numbers = sizeof(names) / sizeof(names[0]);

/// What a fit of VELO, UT and SciFi hits and one of VELO and UT hits say of a track.
struct Seen {
  double qop, variance;  // 1/MeV
  double velo_hits;
  double upstream_qop, upstream_variance;  // not finite where there is no such fit
};

/// What weights and scales depend on.
struct Inputs {
  double modules, sure, turn;

  explicit Inputs(const Seen& seen) : modules((seen.velo_hits - mean_modules) / modules_unit), sure(0.0), turn(0.0) {
    const double ratio = seen.upstream_qop / seen.qop - 1.0;
    const double variance = seen.upstream_variance / (seen.qop * seen.qop);
    if (!std::isfinite(ratio) || !(variance > 0.0)) return;
    sure = turn_spread * turn_spread / (turn_spread * turn_spread + variance);
    turn = std::min(std::max(std::min(std::max(ratio, -2.0), 2.0) * sure, -1.0), 1.0);
  }
};

/// exp(x²) erfc(x) for x >= 0.
inline double scaled_erfc(double x) {
  if (x < 20.0) return std::exp(x * x) * std::erfc(x);
  const double y = 1.0 / (x * x);
  return (1.0 - 0.5 * y * (1.0 - 1.5 * y * (1.0 - 2.5 * y))) / (x * std::sqrt(2.0 * half_pi));
}

inline double gauss(double z) { return std::exp(-0.5 * z * z) / root_two_pi; }

/// An exponential of mean `scale`, folded with a Gaussian of width `width`: density at u.
inline double folded(double u, double scale, double width) {
  const double z = u / width - width / scale;
  if (z < 0.0) {
    const double place = u / width;
    return 0.5 / scale * std::exp(-0.5 * place * place) * scaled_erfc(-root_half * z);
  }
  return 0.5 / scale * std::exp(0.5 * width * width / (scale * scale) - u / scale) * std::erfc(-root_half * z);
}

/// A density, its integral from −∞, and its derivative.
struct Value {
  double density, below, slope;
};

/// Weight, mean and variance.
struct Moments {
  double weight, mean, variance;
};

/// The density of the loss u = ln(p where it was produced / p of the fit), up to the shift of the fit.
class Loss {
 public:
  Loss(const double* n, const Seen& seen) : width_(n[11] * std::sqrt(seen.variance) / std::abs(seen.qop)) {
    const Inputs in(seen);
    const double odds = n[0] + n[1] * in.modules + n[2] * in.sure + n[3] * in.turn;
    soft_ = 1.0 / (1.0 + std::exp(-odds));
    soft_scale_ = exponential(n[4] + n[5] * in.modules + n[6] * in.turn);
    hard_scale_ = exponential(n[7] + n[8] * in.sure + n[9] * in.turn);
  }

  bool ok() const { return std::isfinite(width_) && width_ > 0.0 && std::isfinite(soft_ + soft_scale_ + hard_scale_); }
  double hard() const { return 1.0 - soft_; }

  Value at(double u) const {
    Value sum{0.0, 0.0, 0.0};
    // The Gaussian alone, which all terms have in common.
    const double below = 0.5 * std::erfc(-root_half * u / width_), density = gauss(u / width_) / width_;
    const auto add = [&](double weight, double scale) {
      const double own = folded(u, scale, width_);
      sum.density += weight * own;
      sum.below += weight * (below - scale * own);
      sum.slope += weight * (density - own) / scale;
    };
    for (int i = 0; i < soft_nodes; ++i) add(soft_ / soft_nodes, soft_scale_ * node(i));
    add(1.0 - soft_, hard_scale_);
    return sum;
  }

  /// Where a share of the density is below u.
  double quantile(double share) const {
    const double reach = 8.0 * width_;
    return bisected(-reach, reach + 40.0 * std::max(soft_scale_, hard_scale_),
                    [&](double u) { return at(u).below < share; });
  }

  /// Where the density is largest. Every term rises up to 0, so that this is above.
  double most_probable() const {
    double high = width_;
    while (at(high).slope > 0.0) high *= 2.0;
    return bisected(0.0, high, [&](double u) { return at(u).slope > 0.0; });
  }

  /// Moments of exp(−u) in a component: of q/p over that of the fit, up to the shift.
  Moments soft() const {
    double first = 0.0, second = 0.0;
    for (int i = 0; i < soft_nodes; ++i) {
      first += 1.0 / (1.0 + soft_scale_ * node(i)) / soft_nodes;
      second += 1.0 / (1.0 + 2.0 * soft_scale_ * node(i)) / soft_nodes;
    }
    return with_width(soft_, first, second);
  }
  Moments hard_moments() const {
    return with_width(1.0 - soft_, 1.0 / (1.0 + hard_scale_), 1.0 / (1.0 + 2.0 * hard_scale_));
  }

 private:
  double width_, soft_, soft_scale_, hard_scale_;

  static double exponential(double log) { return std::exp(std::min(std::max(log, least_log), most_log)); }

  static double node(int i) {
    static const std::array<double, soft_nodes> nodes = [] {
      std::array<double, soft_nodes> made{};
      for (int k = 0; k < soft_nodes; ++k) {
        const double cosine = std::cos((k + 0.5) / soft_nodes * half_pi);
        made[static_cast<std::size_t>(k)] = cosine * cosine;
      }
      return made;
    }();
    return nodes[static_cast<std::size_t>(i)];
  }

  Moments with_width(double weight, double first, double second) const {
    const double grown = std::exp(0.5 * width_ * width_), mean = first * grown;
    return {weight, mean, second * std::pow(grown, 4.0) - mean * mean};
  }

  template <class Below>
  static double bisected(double low, double high, const Below& below) {
    // To 1e-9 of the range, far below any error.
    for (int i = 0; i < 32; ++i) {
      const double middle = 0.5 * (low + high);
      (below(middle) ? low : high) = middle;
    }
    return 0.5 * (low + high);
  }
};

/// q/p where the electron was produced, 1/MeV, and variances: of the estimate, of both components, and of all together.
struct Estimate {
  double qop, variance;
  double hard;  // weight of hard radiation
  double soft_qop, soft_variance, hard_qop, hard_variance, mean_qop, mean_variance;
  double low_qop, high_qop;  // ends of the central 68 %, of the smaller and of the larger momentum
};
constexpr int estimate_rows = 11;

/// What is known of a track without a good fit: its q/p.
inline Estimate unknown(const Seen& seen) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  return {seen.qop, seen.variance, nan, nan, nan, nan, nan, nan, nan, nan, nan};
}

/// Estimate q/p of an electron. A track whose fit has no momentum keeps its q/p; what is not known is NaN.
///
/// The estimate is the most probable value of ln p. If half of the density lies beyond a loss that is surely large, it is
/// the median. Its standard deviation is half of the central 68 % of q/p.
inline Estimate estimate(const double* n, const Seen& seen) {
  const Loss loss(n, seen);
  if (!loss.ok()) return unknown(seen);
  const double behind = seen.qop * std::exp(n[10]);
  const double median = loss.quantile(0.5);
  const double u = median > n[12] ? median : loss.most_probable();
  const double low = behind * std::exp(-loss.quantile(0.15865525393145707));
  const double high = behind * std::exp(-loss.quantile(0.84134474606854293));
  const Moments soft = loss.soft(), hard = loss.hard_moments();
  const double mean = soft.weight * soft.mean + hard.weight * hard.mean;
  const double square = soft.weight * (soft.variance + soft.mean * soft.mean) +
                        hard.weight * (hard.variance + hard.mean * hard.mean);
  const double unit = behind * behind;
  return {behind * std::exp(-u),
          0.25 * (low - high) * (low - high),
          loss.hard(),
          behind * soft.mean,
          unit * soft.variance,
          behind * hard.mean,
          unit * hard.variance,
          behind * mean,
          unit * (square - mean * mean),
          low,
          high};
}

}  // namespace parkf::electron
