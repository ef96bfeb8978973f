#pragma once
// Which of the builds for several instruction sets this machine can run.

#include <cstddef>

namespace parkf {

/// How many of the builds plain, v2, v3 and v4 (the x86-64 levels) run here.
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

}  // namespace parkf
