#pragma once
// The instruction sets that the kernel may be compiled for, and which of them this machine has.

#include <cstddef>
#include <string>

namespace parkf {

/// The x86-64 levels; processors of other kinds have the first one alone.
constexpr const char* instruction_sets[] = {"plain", "v2", "v3", "v4"};

/// How many of the instruction sets this machine has.
inline std::size_t instruction_level() {
#if defined(__x86_64__)
  // Ask for the features that distinguish the levels, because not every compiler can ask for a level by its name.
  if (!__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("popcnt")) return 1;
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi") ||
      !__builtin_cpu_supports("bmi2"))
    return 2;
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512cd") || !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl"))
    return 3;
  return 4;
#else
  return 1;
#endif
}

/// The builds, given in the order of their instruction sets, that this machine can run, the fastest first.
template <class Builds>
Builds runnable(const Builds& builds) {
  Builds found;
  for (std::size_t level = instruction_level(); level > 0; --level) {
    for (const auto* build : builds) {
      if (std::string(build->name) == instruction_sets[level - 1]) found.push_back(build);
    }
  }
  return found;
}

}  // namespace parkf
