#pragma once
// Fit of a Gaussian, truncated at two of its widths, to the core of a distribution, by maximum likelihood.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

namespace parkf::figures {

constexpr double window = 2.0;  // half-width of the fitted range in units of the width found
constexpr int rounds = 20;
// For a fit in one range: largest number of iterations, and a change that is small enough to stop, because Newton's next
// change would be of the order of its square.
constexpr int steps = 50;
constexpr double close = 1e-5;
constexpr double narrowest = 0.2, widest = 5.0;  // limits of a fitted width, in units of the previous one

/// The means of u, u², u³, u⁴ of a Gaussian seen in (-window, window).
inline std::array<double, 4> moments(double m, double s) {
  using std::pow;
  const double root_2 = std::sqrt(2.0), area = std::sqrt(2 * 3.14159265358979323846);
  const double low = (-window - m) / s, high = (window - m) / s;
  const double inside = (std::erf(high / root_2) - std::erf(low / root_2)) / 2;
  const double a = std::exp(-0.5 * low * low) / area / inside, b = std::exp(-0.5 * high * high) / area / inside;
  const double z1 = a - b;
  const double z2 = 1 + low * a - high * b;
  const double z3 = 2 * z1 + low * low * a - high * high * b;
  const double z4 = 3 * z2 + pow(low, 3) * a - pow(high, 3) * b;
  return {m + s * z1,
          m * m + 2 * m * s * z1 + s * s * z2,
          pow(m, 3) + 3 * (m * m) * s * z1 + 3 * m * (s * s) * z2 + pow(s, 3) * z3,
          pow(m, 4) + 4 * pow(m, 3) * s * z1 + 6 * ((m * s) * (m * s)) * z2 + 4 * m * pow(s, 3) * z3 + pow(s, 4) * z4};
}

struct Core {
  double mean, mean_error, width, width_error;
};

/// Fit mean and width of a Gaussian seen only in (-window, window).
///
/// The likelihood depends only on the means of u and u² of the n entries there. Its negative logarithm is convex in m/s²
/// and −1/(2 s²), with the covariance of u and u² as its curvature. Newton's method therefore converges in a few steps.
inline Core fit_shape(double first, double second, double n) {
  double mean = 0.0, width = 1.0, v11 = 0.0, v12 = 0.0, v22 = 0.0, determinant = 0.0;
  std::array<double, 4> got = moments(mean, width);
  for (int i = 0; i < steps; ++i) {
    v11 = got[1] - got[0] * got[0];
    v12 = got[2] - got[0] * got[1];
    v22 = got[3] - got[1] * got[1];
    determinant = v11 * v22 - v12 * v12;
    const double lack = first - got[0], lack2 = second - got[1], width2 = width * width;
    const double linear = mean / width2 + (v22 * lack - v12 * lack2) / determinant;
    const double square = -0.5 / width2 + (v11 * lack2 - v12 * lack) / determinant;
    const double last_mean = mean, last_width = width;
    // A step is limited so that the width at most halves or doubles.
    width = std::sqrt(-0.5 / std::min(std::max(square, -2 / width2), -0.125 / width2));
    width = std::min(std::max(width, narrowest), widest);
    mean = std::min(std::max(linear * (width * width), -window), window);
    if (std::abs(mean - last_mean) + std::abs(width - last_width) < close) break;
    got = moments(mean, width);
  }
  const double scale = n * determinant;
  const double variance = v22 + 4 * mean * -v12 + 4 * (mean * mean) * v11;
  return {mean, width * width * std::sqrt(variance / scale), width, std::pow(width, 3) * std::sqrt(v11 / scale)};
}

/// Fit the core of `count` numbers in ascending order, whose median is about 0 and whose width is about 1.
///
/// The range is moved with the fit until it converges.
inline Core fit_core(const double* u, std::size_t count) {
  // Sums over any range are differences of these.
  std::vector<double> sum(count + 1), sum2(count + 1);
  for (std::size_t i = 0; i < count; ++i) {
    sum[i + 1] = sum[i] + u[i];
    sum2[i + 1] = sum2[i] + u[i] * u[i];
  }
  Core core{0.0, 0.0, 1.0, 0.0};
  for (int i = 0; i < rounds; ++i) {
    const double mean = core.mean, width = core.width;
    const auto begin = std::lower_bound(u, u + count, mean - window * width) - u;
    const auto end = std::lower_bound(u, u + count, mean + window * width) - u;
    const double n = static_cast<double>(end - begin);
    const double first = (sum[end] - sum[begin]) / n, second = (sum2[end] - sum2[begin]) / n;
    const double square = second - 2 * mean * first + mean * mean;
    const Core shape = fit_shape((first - mean) / width, square / (width * width), n);
    core = {mean + shape.mean * width, shape.mean_error * width, width * shape.width, shape.width_error * width};
    if (std::abs(shape.mean) < 1e-3 && std::abs(shape.width - 1) < 1e-3) break;
  }
  return core;
}

}  // namespace parkf::figures
