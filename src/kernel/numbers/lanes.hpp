#pragma once
// Several tracks in one number: N lanes of a vector register (GCC and Clang), with one track in each lane.

#include <limits>
#include <utility>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "numbers/number.hpp"

namespace parkf {

/// Integers of the same width as the numbers, so that masks and selections need no conversion.
template <class S>
struct LaneInteger;
template <>
struct LaneInteger<float> {
  using type = int;
};
template <>
struct LaneInteger<double> {
  using type = long long;
};

/// One butterfly of a transposition: in every 2·Step lanes, the second half of `a` and the first half of `b` are
/// exchanged.
template <int Step, class Vector, int... L>
KERNEL_FUNCTION void swap_halves(Vector& a, Vector& b, std::integer_sequence<int, L...>) {
  constexpr int n = sizeof...(L);
  const Vector first = __builtin_shufflevector(a, b, ((L & Step) ? n + L - Step : L)...);
  b = __builtin_shufflevector(a, b, ((L & Step) ? n + L : L + Step)...);
  a = first;
}

/// Transpose every Rows × Rows block of `Rows` vectors.
template <int Step, int Rows, class Vector>
KERNEL_FUNCTION void transpose_rows(Vector* rows) {
  if constexpr (Step < Rows) {
    constexpr int lanes = sizeof(Vector) / sizeof(rows[0][0]);
    for (int i = 0; i < Rows; ++i) {
      if ((i & Step) == 0) swap_halves<Step>(rows[i], rows[i + Step], std::make_integer_sequence<int, lanes>{});
    }
    transpose_rows<2 * Step, Rows>(rows);
  }
}

/// One vector from the lanes of two.
template <class Half, int... L>
KERNEL_FUNCTION auto joined(const Half& low, const Half& high, std::integer_sequence<int, L...>) {
  return __builtin_shufflevector(low, high, L...);
}

/// Write whole cache lines past the caches, and other bytes as usual, because a line that is written in part must be
/// read first.
template <int bytes>
KERNEL_FUNCTION void stream_bytes(const void* values, void* target) {
#if defined(__AVX512F__)
  if constexpr (bytes == sizeof(__m512i)) {
    _mm512_stream_si512(static_cast<__m512i*>(target), _mm512_loadu_si512(values));
    return;
  }
#endif
  __builtin_memcpy(target, values, bytes);
}

/// Make writes past the caches visible to other threads.
KERNEL_FUNCTION void finish_streams() {
#if defined(__AVX512F__)
  _mm_sfence();
#endif
}

/// N numbers of type S; arithmetic and comparisons act on each. Members are mutable because GCC 12 keeps constants of
/// class types in memory otherwise, which made the fit 2% slower.
template <class S, int N>
struct Lanes {
  using I = typename LaneInteger<S>::type;
  typedef S Vector __attribute__((vector_size(N * sizeof(S))));
  typedef I Bits __attribute__((vector_size(N * sizeof(S))));

  /// Results of comparisons: all bits set where true.
  struct Mask {
    mutable Bits bits;
    KERNEL_FUNCTION friend Mask operator&(const Mask& a, const Mask& b) { return {a.bits & b.bits}; }
    KERNEL_FUNCTION friend Mask operator|(const Mask& a, const Mask& b) { return {a.bits | b.bits}; }
    KERNEL_FUNCTION friend Mask operator!(const Mask& a) { return {~a.bits}; }
  };

  /// Status bits and counts.
  struct Integer {
    mutable Bits bits;
    Integer() = default;
    KERNEL_FUNCTION Integer(int a) : bits(Bits{} + static_cast<I>(a)) {}
    KERNEL_FUNCTION explicit Integer(const Bits& a) : bits(a) {}
    KERNEL_FUNCTION friend Integer operator+(const Integer& a, const Integer& b) { return Integer(a.bits + b.bits); }
    KERNEL_FUNCTION friend Integer operator|(const Integer& a, const Integer& b) { return Integer(a.bits | b.bits); }
    KERNEL_FUNCTION friend Integer operator&(const Integer& a, const Integer& b) { return Integer(a.bits & b.bits); }
    KERNEL_FUNCTION friend Mask operator<(const Integer& a, const Integer& b) { return {a.bits < b.bits}; }
    KERNEL_FUNCTION friend Mask operator==(const Integer& a, const Integer& b) { return {a.bits == b.bits}; }
  };

  mutable Vector v;

  Lanes() = default;
  // The compiler omits the subtraction of zero, which changes no number. Addition of zero would turn -0 to 0.
  KERNEL_FUNCTION Lanes(S a) : v(a - Vector{}) {}
  KERNEL_FUNCTION explicit Lanes(const Vector& a) : v(a) {}

  KERNEL_FUNCTION friend Lanes operator+(const Lanes& a, const Lanes& b) { return Lanes(a.v + b.v); }
  KERNEL_FUNCTION friend Lanes operator-(const Lanes& a, const Lanes& b) { return Lanes(a.v - b.v); }
  KERNEL_FUNCTION friend Lanes operator*(const Lanes& a, const Lanes& b) { return Lanes(a.v * b.v); }
  KERNEL_FUNCTION friend Lanes operator/(const Lanes& a, const Lanes& b) { return Lanes(a.v / b.v); }
  KERNEL_FUNCTION friend Lanes operator-(const Lanes& a) { return Lanes(-a.v); }
  KERNEL_FUNCTION Lanes& operator+=(const Lanes& a) { return *this = *this + a; }
  KERNEL_FUNCTION Lanes& operator-=(const Lanes& a) { return *this = *this - a; }
  KERNEL_FUNCTION friend Mask operator<(const Lanes& a, const Lanes& b) { return {a.v < b.v}; }
  KERNEL_FUNCTION friend Mask operator<=(const Lanes& a, const Lanes& b) { return {a.v <= b.v}; }
  KERNEL_FUNCTION friend Mask operator>(const Lanes& a, const Lanes& b) { return {a.v > b.v}; }
  KERNEL_FUNCTION friend Mask operator==(const Lanes& a, const Lanes& b) { return {a.v == b.v}; }

  KERNEL_FUNCTION friend Lanes select(const Mask& mask, const Lanes& yes, const Lanes& no) {
    return Lanes(mask.bits ? yes.v : no.v);
  }
  KERNEL_FUNCTION friend Integer select(const Mask& mask, const Integer& yes, const Integer& no) {
    return Integer(mask.bits ? yes.bits : no.bits);
  }
  KERNEL_FUNCTION friend bool any(const Mask& mask) {
#if defined(__AVX512F__)
    if constexpr (sizeof(Bits) == sizeof(__m512i)) {
      const auto bits = reinterpret_cast<__m512i>(mask.bits);
      return _mm512_test_epi32_mask(bits, bits) != 0;
    }
#endif
    I result = 0;
    for (int i = 0; i < N; ++i) result |= mask.bits[i];
    return result != 0;
  }
  KERNEL_FUNCTION friend int largest(const Integer& a) {
    I result = a.bits[0];
    for (int i = 1; i < N; ++i) result = a.bits[i] > result ? a.bits[i] : result;
    return static_cast<int>(result);
  }
  KERNEL_FUNCTION friend Lanes root(const Lanes& a) {
    Lanes result;
    for (int i = 0; i < N; ++i) result.v[i] = root(a.v[i]);
    return result;
  }
  KERNEL_FUNCTION friend Lanes single(const Lanes& a) {
    Lanes result;
    for (int i = 0; i < N; ++i) result.v[i] = single(a.v[i]);
    return result;
  }
  KERNEL_FUNCTION friend void stream(const Lanes& a, S* target) { stream_bytes<sizeof(Vector)>(&a.v, target); }
  KERNEL_FUNCTION friend void stream(const Integer& a, int* target) {
    int values[N];
    for (int i = 0; i < N; ++i) values[i] = static_cast<int>(a.bits[i]);
    stream_bytes<sizeof(values)>(values, target);
  }
  /// Clear the bit of the sign, which is the highest one.
  KERNEL_FUNCTION friend Lanes magnitude(const Lanes& a) {
    return Lanes(reinterpret_cast<Vector>(reinterpret_cast<Bits>(a.v) & std::numeric_limits<I>::max()));
  }
  KERNEL_FUNCTION friend Lanes rough_log2(const Lanes& a) {
    constexpr bool wide = sizeof(S) == sizeof(double);
    return Lanes(__builtin_convertvector(reinterpret_cast<Bits>(a.v), Vector) * S(wide ? 0x1p-52 : 0x1p-23) -
                 S(wide ? 1023 : 127));
  }
  KERNEL_FUNCTION friend Integer to_integer(const Lanes& a) { return Integer(__builtin_convertvector(a.v, Bits)); }
  KERNEL_FUNCTION friend Lanes round_down(const Lanes& a) {
    if constexpr (sizeof(S) == sizeof(double)) {
      // There is no conversion to integers of this width, because few instruction sets have one.
      Lanes result;
      for (int i = 0; i < N; ++i) result.v[i] = round_down(a.v[i]);
      return result;
    } else {
      const Lanes whole(__builtin_convertvector(__builtin_convertvector(a.v, Bits), Vector));
      return select(a < whole, whole - Lanes(S(1)), whole);
    }
  }
};

template <class S, int N>
KERNEL_FUNCTION void put(Lanes<S, N>& numbers, int lane, const S& value) {
  numbers.v[lane] = value;
}
template <class S, int N>
KERNEL_FUNCTION S lane_of(const Lanes<S, N>& numbers, int lane) {
  return numbers.v[lane];
}

/// Transpose: lane i of result j is lane j of row i.
template <class S, int N>
KERNEL_FUNCTION void transpose(Lanes<S, N>* rows) {
  typename Lanes<S, N>::Vector vectors[N];
  for (int i = 0; i < N; ++i) vectors[i] = rows[i].v;
  transpose_rows<1, N>(vectors);
  for (int i = 0; i < N; ++i) rows[i].v = vectors[i];
}

/// N consecutive floats as numbers.
template <class S, int N>
KERNEL_FUNCTION Lanes<S, N> from_floats(const float* source) {
  Lanes<S, N> result;
  if constexpr (sizeof(S) == sizeof(float)) {
    __builtin_memcpy(&result.v, source, sizeof(result.v));
  } else {
    // GCC makes one instruction of the loop, and many of a conversion of vectors.
    S numbers[N];
    for (int i = 0; i < N; ++i) numbers[i] = source[i];
    __builtin_memcpy(&result.v, numbers, sizeof(numbers));
  }
  return result;
}

/// The first M lanes.
template <int M, class S, int N>
KERNEL_FUNCTION Lanes<S, M> first_lanes(const Lanes<S, N>& numbers) {
  return Lanes<S, M>(joined(numbers.v, numbers.v, std::make_integer_sequence<int, M>{}));
}

/// N consecutive floats as numbers, and once more behind them.
template <class S, int N>
KERNEL_FUNCTION Lanes<S, 2 * N> from_floats_twice(const float* source) {
#if defined(__AVX512F__)
  // One load, where compilers make a load and a shuffle.
  if constexpr (sizeof(Lanes<S, 2 * N>) == sizeof(__m512d) && sizeof(S) == sizeof(float)) {
    const __m512d twice = _mm512_maskz_broadcast_f64x4(-1, _mm256_castps_pd(_mm256_loadu_ps(source)));
    return Lanes<S, 2 * N>(reinterpret_cast<typename Lanes<S, 2 * N>::Vector>(twice));
  }
#endif
  const Lanes<S, N> once = from_floats<S, N>(source);
  return Lanes<S, 2 * N>(joined(once.v, once.v, std::make_integer_sequence<int, 2 * N>{}));
}

template <class S, int N>
struct Number<Lanes<S, N>> {
  using Scalar = S;
  using Mask = typename Lanes<S, N>::Mask;
  using Integer = typename Lanes<S, N>::Integer;
  static constexpr int lanes = N;
  KERNEL_FUNCTION static Lanes<S, N> of(const Integer& a) {
    return Lanes<S, N>(__builtin_convertvector(a.bits, typename Lanes<S, N>::Vector));
  }
};

/// Join W slots from each of the rows 0, W, 2·W, …; neighbouring rows are `slots` apart.
template <class S, int N, int W, int slots>
KERNEL_FUNCTION typename Lanes<S, N>::Vector pieces(const S* source) {
  if constexpr (N == W) {
    typename Lanes<S, W>::Vector piece;
    __builtin_memcpy(&piece, source, sizeof(piece));
    return piece;
  } else {
    return joined(pieces<S, N / 2, W, slots>(source), pieces<S, N / 2, W, slots>(source + N / 2 * slots),
                  std::make_integer_sequence<int, N>{});
  }
}

/// Turn W slots of the rows, from `first` on, into (slot, lane).
template <class T, int W, int slots>
KERNEL_FUNCTION void turn_slots(const Scalar<T>* source, int first, Scalar<T>* target) {
  typename T::Vector turned[W];
  for (int j = 0; j < W; ++j) {
    turned[j] = pieces<Scalar<T>, Number<T>::lanes, W, slots>(source + first + j * slots);
  }
  transpose_rows<1, W>(turned);
  __builtin_memcpy(target + first * Number<T>::lanes, turned, sizeof(turned));
}

/// Turn the first `used` slots of the rows into (slot, lane).
template <class T, int slots>
KERNEL_FUNCTION void turn(const Scalar<T>* source, int used, Scalar<T>* target) {
  constexpr int n = Number<T>::lanes;
  if constexpr (n >= 4) {
    int slot = 0;
    if constexpr (n >= 8 && slots >= 8) {
      for (; slot + 4 < used; slot += 8) turn_slots<T, 8, slots>(source, slot + 8 < slots ? slot : slots - 8, target);
    }
    for (; slot < used; slot += 4) turn_slots<T, 4, slots>(source, slot + 4 < slots ? slot : slots - 4, target);
  } else {
    for (int slot = 0; slot < used; ++slot) {
      for (int lane = 0; lane < n; ++lane) target[slot * n + lane] = source[lane * slots + slot];
    }
  }
}

}  // namespace parkf
