#pragma once
// Counter-based random numbers: Philox4x32-10 (Salmon et al., SC'11). A number depends only on (seed, event, particle,
// step), and never on the order of the work or its division among cores.

#include <cstdint>

#include "numbers/functions.hpp"

namespace parkf {

template <class T>
struct WordsOf {
  using type = std::uint64_t;
};
template <int N>
struct WordsOf<Lanes<double, N>> {
  typedef unsigned long long type __attribute__((vector_size(N * sizeof(double))));
};
/// A word of 32 bits for each lane, in the width of a number.
template <class T>
using Words = typename WordsOf<T>::type;

/// Turn a counter into four random words; the seed is the key.
template <class W>
KERNEL_FUNCTION void philox4x32(W (&counter)[4], std::uint64_t seed) {
  constexpr std::uint64_t low = 0xffffffff;
  std::uint64_t key[2] = {seed & low, seed >> 32};
  for (int round = 0; round < 10; ++round) {
    const W first = counter[0] * 0xD2511F53, second = counter[2] * 0xCD9E8D57;
    counter[0] = (second >> 32) ^ counter[1] ^ key[0];
    counter[1] = second & low;
    counter[2] = (first >> 32) ^ counter[3] ^ key[1];
    counter[3] = first & low;
    key[0] = (key[0] + 0x9E3779B9) & low;
    key[1] = (key[1] + 0xBB67AE85) & low;
  }
}

/// The random numbers of one particle at one step, or of a particle in each lane.
template <class T>
class Random {
 public:
  /// Begin behind the first `drawn` numbers.
  KERNEL_FUNCTION Random(std::uint64_t seed, const Words<T>& event, const Words<T>& particle, const Words<T>& step,
                         std::uint64_t drawn = 0)
      : seed_(seed), event_(event), particle_(particle), step_(step), drawn_(drawn) {
    if (drawn % 2) shuffle();
  }

  /// Uniform in the open interval (0, 1), with 52 bits. The ends never occur, so logarithms are finite.
  KERNEL_FUNCTION T uniform() {
    if (drawn_ % 2 == 0) shuffle();
    const Words<T>* pair = words_ + drawn_++ % 2 * 2;
    // A number that begins with these bits is 2^52 larger than the others are as an integer.
    constexpr std::uint64_t offset = 0x4330000000000000;
    const Words<T> bits = ((pair[0] << 32 | pair[1]) >> 12) | offset;
    T result;
    __builtin_memcpy(&result, &bits, sizeof(result));
    return (result - 0x1p52 + 0.5) * 0x1p-52;
  }

  /// Exponential with mean one.
  KERNEL_FUNCTION T exponential() { return -logarithm(uniform()); }

 private:
  std::uint64_t seed_;
  Words<T> event_, particle_, step_;
  std::uint64_t drawn_;  // numbers so far
  Words<T> words_[4];    // of two numbers

  KERNEL_FUNCTION void shuffle() {
    const Words<T> none{};
    words_[0] = none + drawn_ / 2;
    words_[1] = step_;
    words_[2] = particle_;
    words_[3] = event_;
    philox4x32(words_, seed_);
  }
};

}  // namespace parkf
