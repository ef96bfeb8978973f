#pragma once
// Logarithms, powers and angles of a double, or of several in lanes. They are sums and products in a fixed order, and
// therefore have the same bits on every machine, whatever its C library. Errors are below two units of the last digit,
// those of a power below two for each unit of its logarithm.

#include "numbers/lanes.hpp"

namespace parkf {

template <class T>
struct BitsOf {
  using type = long long;
};
template <int N>
struct BitsOf<Lanes<double, N>> {
  using type = typename Lanes<double, N>::Bits;
};
/// The bits of a number, as an integer.
template <class T>
using Bits = typename BitsOf<T>::type;

template <class T>
KERNEL_FUNCTION Bits<T> bits_of(const T& a) {
  Bits<T> result;
  __builtin_memcpy(&result, &a, sizeof(result));
  return result;
}
template <class T>
KERNEL_FUNCTION T from_bits(const Bits<T>& bits) {
  T result;
  __builtin_memcpy(&result, &bits, sizeof(result));
  return result;
}

// A sum with this number is rounded to a whole number, which its last bits are.
constexpr double rounder = 0x1.8p52;
constexpr long long rounder_bits = 0x4338000000000000;
constexpr long long mantissa_bits = (1LL << 52) - 1, sign_bit = std::numeric_limits<long long>::min();
constexpr double ln2 = 0x1.62e42fefa39efp-1;
// ln 2 in two parts; products of the first with exponents are exact.
constexpr double ln2_high = 0x1.62e42fefa38p-1, ln2_low = 0x1.ef35793c7673p-45;
constexpr double least_normal = 0x1p-1022;

/// Natural logarithm. Numbers that are too small for all their digits count as zero.
template <class T>
KERNEL_FUNCTION T logarithm(const T& a) {
  constexpr long long root_of_half = 0x3fe6a09e667f3bcd;
  // a = 2^k m, with m within a factor of the square root of two of one.
  const Bits<T> bits = bits_of(a) & ~sign_bit;
  const Bits<T> power_of_two = (bits - root_of_half) & ~mantissa_bits;
  const T k = from_bits<T>((power_of_two >> 52) + rounder_bits) - rounder;
  const T f = from_bits<T>(bits - power_of_two) - 1.0;
  // ln m is twice the inverse hyperbolic tangent of s: 2 s (1 + s^2 / 3 + s^4 / 5 + ...), and 2 s = f - s f.
  const T s = f / (2.0 + f), square = s * s;
  // Two sums of every second term take half of the time of one.
  const T fourth = square * square;
  T sum(1.0 / 21.0), next_sum(1.0 / 19.0);
  for (int n = 17; n > 3; n -= 4) {
    sum = sum * fourth + 1.0 / n;
    next_sum = next_sum * fourth + 1.0 / (n - 2);
  }
  const T rest = s * (f - 2.0 * square * (sum * square + next_sum)) - k * ln2_low;
  const T result = k * ln2_high - (rest - f);
  constexpr double infinite = __builtin_inf(), none = __builtin_nan("");
  const T special = select(a < T(0.0), T(none), select(a < T(least_normal), T(-infinite), a));
  return select(at_most(T(least_normal), a) & (a < T(infinite)), result, special);
}

template <class T>
KERNEL_FUNCTION T decimal_logarithm(const T& a) {
  return logarithm(a) * 0x1.bcb7b1526e50ep-2;
}

/// The number with this natural logarithm, which counts as at most 708 away from zero.
template <class T>
KERNEL_FUNCTION T antilogarithm(const T& a) {
  const T clear = smaller(T(708.0), larger(a, T(-708.0)));  // no number remains none
  const T shifted = clear * 0x1.71547652b82fep+0 + rounder;
  const T k = shifted - rounder;
  const T rest = (clear - k * ln2_high) - k * ln2_low;
  // The power series of a number of at most half of ln 2.
  T sum(1.0);
  for (int n = 13; n > 0; --n) sum = sum * rest * (1.0 / n) + 1.0;
  return sum * from_bits<T>(((bits_of(shifted) - rounder_bits + 1023) & 2047) << 52);
}

template <class T, class Exponent>
KERNEL_FUNCTION T power(const T& a, const Exponent& exponent) {
  return antilogarithm(T(exponent * logarithm(a)));
}

template <class T>
struct Angle {
  T sine, cosine;
};

constexpr double two_pi = 6.283185307179586;

/// Sine and cosine of an angle in full turns, which is exact where a multiple of 2 pi would not be.
template <class T>
KERNEL_FUNCTION Angle<T> turned(const T& turns) {
  const T shifted = 4.0 * turns + rounder;
  const Bits<T> quarters = bits_of(shifted);
  const T angle = two_pi * (turns - 0.25 * (shifted - rounder));
  // The power series of an angle of at most an eighth of a turn.
  const T square = angle * angle;
  T sum(1.0), cosine(1.0);
  for (int n = 15; n > 1; n -= 2) sum = 1.0 - square * (1.0 / (n * (n - 1))) * sum;
  for (int n = 16; n > 0; n -= 2) cosine = 1.0 - square * (1.0 / (n * (n - 1))) * cosine;
  const Bits<T> sine_bits = bits_of(T(angle * sum)), cosine_bits = bits_of(cosine);
  // Odd numbers of quarters exchange both, and every second quarter changes a sign.
  const Bits<T> odd = -(quarters & 1);
  const Bits<T> minus = -(quarters >> 1 & 1) & sign_bit, next_minus = -((quarters + 1) >> 1 & 1) & sign_bit;
  return {from_bits<T>(((sine_bits & ~odd) | (cosine_bits & odd)) ^ minus),
          from_bits<T>(((cosine_bits & ~odd) | (sine_bits & odd)) ^ next_minus)};
}

}  // namespace parkf
