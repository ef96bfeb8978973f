#pragma once
// What the fitter needs from a number type: float and double here, several tracks at once in lanes.hpp. Only this
// header distinguishes compilers: CUDA (nvcc, NVRTC without standard headers) or a C++17 host. There are two
// exceptions: magnet_block.hpp waits for the threads of a GPU, and lanes.hpp names instructions of processors that
// compilers do not find.

#if defined(__CUDACC__)
#define KERNEL_FUNCTION __host__ __device__ __forceinline__
// For a loop over an array that should stay in registers.
#define KERNEL_UNROLLED _Pragma("unroll")
// The same, except that processors do not unroll, because the code of the fit is already too long for their first-level
// cache.
#define KERNEL_ROLLED _Pragma("unroll")
// For a loop whose rounds should not be mixed with each other, since together they would need too many registers.
#define KERNEL_ONE_BY_ONE _Pragma("unroll 1")
#else
// All is inlined in every program: compilers fuse products and sums within a function alone, so that the last bit of a
// result depends on what is inlined. With PARKF_CALLS the compiler chooses, for plain builds, which fuse nothing, and
// where nobody compares bits. This takes it a third of the time, without optimisation a tenth, and the fit is a quarter
// slower (float32, AVX-512).
#if !defined(PARKF_CALLS)
#define KERNEL_FUNCTION inline __attribute__((always_inline))
#elif defined(PARKF_COPY)
// A program has copies of the kernel for several instruction sets. None may call a function of another one.
#define KERNEL_FUNCTION inline __attribute__((abi_tag(PARKF_COPY)))
#else
#define KERNEL_FUNCTION inline
#endif
#define KERNEL_UNROLLED
#define KERNEL_ONE_BY_ONE
#if defined(__clang__)
#define KERNEL_ROLLED _Pragma("clang loop unroll(disable)")
#else
#define KERNEL_ROLLED _Pragma("GCC unroll 1")
#endif
#endif

#if !defined(__CUDACC_RTC__)
#include <cmath>
#endif

namespace parkf {

/// A number type: its scalar, the result of its comparisons, and its integers. A plain number is its own scalar.
template <class T>
struct Number {
  using Scalar = T;
  using Mask = bool;
  using Integer = int;
  static constexpr int lanes = 1;
  KERNEL_FUNCTION static T of(int a) { return static_cast<T>(a); }
};

template <class T>
using Scalar = typename Number<T>::Scalar;
template <class T>
using Mask = typename Number<T>::Mask;
template <class T>
using Integer = typename Number<T>::Integer;

#if defined(__CUDA_ARCH__)
KERNEL_FUNCTION float root(float a) { return ::sqrtf(a); }
KERNEL_FUNCTION double root(double a) { return ::sqrt(a); }
KERNEL_FUNCTION float exponential(float a) { return ::expf(a); }
KERNEL_FUNCTION double exponential(double a) { return ::exp(a); }
KERNEL_FUNCTION float magnitude(float a) { return ::fabsf(a); }
KERNEL_FUNCTION double magnitude(double a) { return ::fabs(a); }
KERNEL_FUNCTION float round_down(float a) { return ::floorf(a); }
KERNEL_FUNCTION double round_down(double a) { return ::floor(a); }
template <class S, int n>
struct alignas(n * sizeof(S)) Together {
  S numbers[n];
};
template <int n, class S>
KERNEL_FUNCTION void load_together(const S* source, S* numbers) {
  const Together<S, n> all = *reinterpret_cast<const Together<S, n>*>(source);
  for (int i = 0; i < n; ++i) numbers[i] = all.numbers[i];
}
KERNEL_FUNCTION void prefetch(const char*) {}
/// The compiler may not read what follows before this point. It would read early, and need more registers than there are.
KERNEL_FUNCTION void read_later() { asm volatile("" ::: "memory"); }
#else
KERNEL_FUNCTION float root(float a) { return std::sqrt(a); }
KERNEL_FUNCTION double root(double a) { return std::sqrt(a); }
KERNEL_FUNCTION float exponential(float a) { return std::exp(a); }
KERNEL_FUNCTION double exponential(double a) { return std::exp(a); }
KERNEL_FUNCTION float magnitude(float a) { return std::fabs(a); }
KERNEL_FUNCTION double magnitude(double a) { return std::fabs(a); }
KERNEL_FUNCTION float round_down(float a) { return std::floor(a); }
KERNEL_FUNCTION double round_down(double a) { return std::floor(a); }
/// Load neighbouring numbers; on a GPU in one piece, whose address is a multiple of its size.
template <int n, class S>
KERNEL_FUNCTION void load_together(const S* source, S* numbers) {
  for (int i = 0; i < n; ++i) numbers[i] = source[i];
}
/// Prefetch into the second-level cache, because the first level is full.
KERNEL_FUNCTION void prefetch(const char* line) { __builtin_prefetch(line, 0, 1); }
/// Only a GPU needs it.
KERNEL_FUNCTION void read_later() {}
#endif

#if defined(__CUDA_ARCH__)
KERNEL_FUNCTION float rough_log2(float a) { return static_cast<float>(::__float_as_int(a)) * 0x1p-23f - 127.0f; }
KERNEL_FUNCTION double rough_log2(double a) {
  return static_cast<double>(::__double_as_longlong(a)) * 0x1p-52 - 1023.0;
}
#else
/// Logarithm to base two of a positive number, linear between powers of two: the bits of the number, read as an
/// integer.
KERNEL_FUNCTION float rough_log2(float a) {
  int bits;
  __builtin_memcpy(&bits, &a, sizeof(a));
  return static_cast<float>(bits) * 0x1p-23f - 127.0f;
}
KERNEL_FUNCTION double rough_log2(double a) {
  long long bits;
  __builtin_memcpy(&bits, &a, sizeof(a));
  return static_cast<double>(bits) * 0x1p-52 - 1023.0;
}
#endif

/// Return `yes` where the mask holds, else `no`. Both are computed, because tracks that run together never branch.
template <class T>
KERNEL_FUNCTION T select(bool mask, const T& yes, const T& no) {
  return mask ? yes : no;
}
/// Whether the mask holds for any track.
KERNEL_FUNCTION bool any(bool mask) { return mask; }
/// Largest number among the tracks that run together.
KERNEL_FUNCTION int largest(int a) { return a; }
KERNEL_FUNCTION int to_integer(float a) { return static_cast<int>(a); }
KERNEL_FUNCTION int to_integer(double a) { return static_cast<int>(a); }

template <class T>
KERNEL_FUNCTION T smaller(const T& a, const T& b) {
  return select(a < b, a, b);
}
template <class T>
KERNEL_FUNCTION T larger(const T& a, const T& b) {
  return select(a < b, b, a);
}
/// The value without derivatives, for numbers that have some.
template <class T>
KERNEL_FUNCTION T value(const T& a) {
  return a;
}
/// Whether a ≤ b; false for NaN.
template <class T>
KERNEL_FUNCTION Mask<T> at_most(const T& a, const T& b) {
  return a <= b;
}
/// Set and read the number of one track among those that run together.
template <class T>
KERNEL_FUNCTION void put(T& number, int, const T& value) {
  number = value;
}
template <class T>
KERNEL_FUNCTION T lane_of(const T& number, int) {
  return number;
}
/// Sign, +1 at zero.
template <class T>
KERNEL_FUNCTION T side(const T& a) {
  return select(a < T(0), T(-1), T(1));
}
/// The smallest whole number that is not below a.
template <class T>
KERNEL_FUNCTION T round_up(const T& a) {
  return -round_down(T(-a));
}
/// Rounded to single precision.
KERNEL_FUNCTION float single(float a) { return a; }
KERNEL_FUNCTION double single(double a) {
  // Without volatile, GCC 12 omits the rounding when it vectorises neighbouring numbers.
  volatile float rounded = static_cast<float>(a);
  return static_cast<double>(rounded);
}
/// Neither NaN nor infinite.
template <class T>
KERNEL_FUNCTION Mask<T> finite(const T& a) {
  return a - a == T(0);
}

}  // namespace parkf
