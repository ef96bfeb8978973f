#pragma once
// Forward-mode derivatives: a number with its derivatives with respect to N inputs.
// The Runge-Kutta code is templated on its number type, so value and Jacobian come from one source.

#include <array>
#include <cmath>
#include <cstddef>

#include "numbers/number.hpp"

namespace parkf {

template <std::size_t N>
struct Dual {
  double real = 0.0;
  std::array<double, N> slope{};  // derivatives of `real`

  Dual() = default;
  Dual(double number) : real(number) {}  // NOLINT: constants mix freely with duals

  static Dual variable(double number, std::size_t index) {
    Dual result(number);
    result.slope[index] = 1.0;
    return result;
  }

  Dual& operator+=(const Dual& other) {
    real += other.real;
    for (std::size_t i = 0; i < N; ++i) slope[i] += other.slope[i];
    return *this;
  }
  Dual& operator-=(const Dual& other) {
    real -= other.real;
    for (std::size_t i = 0; i < N; ++i) slope[i] -= other.slope[i];
    return *this;
  }
  Dual& operator*=(double factor) {
    real *= factor;
    for (std::size_t i = 0; i < N; ++i) slope[i] *= factor;
    return *this;
  }

  friend Dual operator+(Dual left, const Dual& right) { return left += right; }
  friend Dual operator-(Dual left, const Dual& right) { return left -= right; }
  friend Dual operator+(Dual left, double right) { return left.real += right, left; }
  friend Dual operator-(Dual left, double right) { return left.real -= right, left; }
  friend Dual operator+(double left, Dual right) { return right.real += left, right; }
  friend Dual operator-(double left, const Dual& right) { return Dual(left) -= right; }
  friend Dual operator*(Dual left, double right) { return left *= right; }
  friend Dual operator*(double left, Dual right) { return right *= left; }
  friend Dual operator*(const Dual& left, const Dual& right) {
    Dual result(left.real * right.real);
    for (std::size_t i = 0; i < N; ++i)
      result.slope[i] = left.slope[i] * right.real + left.real * right.slope[i];
    return result;
  }
  friend Dual operator/(const Dual& left, const Dual& right) {
    const double inverse = 1.0 / right.real;
    Dual result(left.real * inverse);
    for (std::size_t i = 0; i < N; ++i)
      result.slope[i] = (left.slope[i] - result.real * right.slope[i]) * inverse;
    return result;
  }
};

template <std::size_t N>
KERNEL_FUNCTION double value(const Dual<N>& number) {
  return number.real;
}

template <std::size_t N>
KERNEL_FUNCTION Dual<N> root(Dual<N> number) {
  const double root = std::sqrt(number.real);
  number *= 0.5 / root;
  number.real = root;
  return number;
}

}  // namespace parkf
