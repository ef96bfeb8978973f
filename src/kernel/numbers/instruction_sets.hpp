#pragma once
// The instruction sets that the kernel may be compiled for, and which of them this machine has.

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

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
template <class Build>
std::vector<const Build*> runnable(const std::vector<const Build*>& builds) {
  std::vector<const Build*> found;
  for (std::size_t level = instruction_level(); level > 0; --level) {
    for (const Build* build : builds) {
      if (std::string(build->name) == instruction_sets[level - 1]) found.push_back(build);
    }
  }
  return found;
}

/// The build of this name, or the fastest one for an empty name, among those that this machine can run.
template <class Build>
const Build& build_named(const std::vector<const Build*>& builds, const std::string& name) {
  for (const Build* build : builds) {
    if (name.empty() || name == build->name) return *build;
  }
  throw std::invalid_argument("build '" + name + "' is unknown or beyond this machine");
}

template <class Build>
std::vector<std::string> names_of(const std::vector<const Build*>& builds) {
  std::vector<std::string> names;
  for (const Build* build : builds) names.emplace_back(build->name);
  return names;
}

}  // namespace parkf
