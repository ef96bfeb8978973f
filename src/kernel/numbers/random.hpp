#pragma once
// Counter-based random numbers: Philox4x32-10 (Salmon et al., SC'11). A number depends only on (seed, event, particle,
// step), and never on the order of the work or its division among cores.

#include <array>
#include <cmath>
#include <cstdint>

namespace parkf {

/// One block of four 32-bit words for a counter and a key.
inline std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                               std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t first = 0xD2511F53ULL * counter[0];
    const std::uint64_t second = 0xCD9E8D57ULL * counter[2];
    counter = {static_cast<std::uint32_t>(second >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(second),
               static_cast<std::uint32_t>(first >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(first)};
    key[0] += 0x9E3779B9U;
    key[1] += 0xBB67AE85U;
  }
  return counter;
}

/// The random numbers of one particle at one step.
class Random {
 public:
  Random(std::uint64_t seed, std::uint32_t event, std::uint32_t particle, std::uint32_t step)
      : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
        counter_{0, step, particle, event} {}

  /// Uniform in the open interval (0, 1), with 52 bits. The ends never occur, so logarithms are finite.
  double uniform() {
    if (used_ == 4) {
      words_ = philox4x32(counter_, key_);
      ++counter_[0];
      used_ = 0;
    }
    const std::uint64_t bits = (static_cast<std::uint64_t>(words_[used_]) << 32) | words_[used_ + 1];
    used_ += 2;
    return (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52;
  }

  /// Exponential with mean one.
  double exponential() { return -std::log(uniform()); }

  /// Standard normal: one number of the pair of Box and Muller.
  double normal() {
    const double radius = std::sqrt(2.0 * exponential());
    return radius * std::cos(6.283185307179586 * uniform());
  }

 private:
  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 4> counter_;
  std::array<std::uint32_t, 4> words_{};
  int used_ = 4;
};

}  // namespace parkf
