#pragma once
// Logarithms and powers of a number, or of several numbers in lanes, by the same library calls.

#include <cmath>

#include "numbers/lanes.hpp"

namespace parkf {

KERNEL_FUNCTION double logarithm(double a) { return std::log(a); }
KERNEL_FUNCTION double decimal_logarithm(double a) { return std::log10(a); }
KERNEL_FUNCTION double power(double a, double exponent) { return std::pow(a, exponent); }

template <class S, int N>
KERNEL_FUNCTION Lanes<S, N> logarithm(const Lanes<S, N>& a) {
  Lanes<S, N> result;
  for (int i = 0; i < N; ++i) result.v[i] = logarithm(a.v[i]);
  return result;
}
template <class S, int N>
KERNEL_FUNCTION Lanes<S, N> decimal_logarithm(const Lanes<S, N>& a) {
  Lanes<S, N> result;
  for (int i = 0; i < N; ++i) result.v[i] = decimal_logarithm(a.v[i]);
  return result;
}
template <class S, int N>
KERNEL_FUNCTION Lanes<S, N> power(const Lanes<S, N>& a, double exponent) {
  Lanes<S, N> result;
  for (int i = 0; i < N; ++i) result.v[i] = power(a.v[i], exponent);
  return result;
}

}  // namespace parkf
