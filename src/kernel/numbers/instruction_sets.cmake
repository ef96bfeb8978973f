# The instruction sets that the kernel is compiled for, the slowest first. A wheel has all of them. A checkout is
# compiled where it runs, and has two: the plain one, which runs everywhere, and the best one of this machine.
#
# builds.hpp lists them for C++, in angle brackets: fingerprints follow the headers in quotes, and which builds there are
# changes no result of any of them.

set(instruction_sets plain)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(instruction_sets plain v2 v3 v4)
  if(SKBUILD_STATE STREQUAL "editable")
    try_run(instruction_level instruction_level_compiled
            SOURCE_FROM_CONTENT level.cpp
            "#include \"numbers/instruction_sets.hpp\"\nint main() { return static_cast<int>(parkf::instruction_level()); }\n"
            CMAKE_FLAGS -DINCLUDE_DIRECTORIES=${PROJECT_SOURCE_DIR}/src/kernel)
    if(instruction_level GREATER 1)
      math(EXPR best "${instruction_level} - 1")
      list(GET instruction_sets ${best} best)
      set(instruction_sets plain ${best})
      # The plain build is then for other machines that share the checkout. Most of a compiler's time is optimisation,
      # which changes no number of this build, but the sign of some NaN.
      set(plain_effort -O1)
    else()
      set(instruction_sets plain)
    endif()
  endif()
endif()
list(TRANSFORM instruction_sets REPLACE "(.+)" "X(\\1)" OUTPUT_VARIABLE each_build)
list(JOIN each_build " " each_build)
file(CONFIGURE OUTPUT generated/builds.hpp CONTENT "#pragma once\n#define PARKF_EACH_BUILD(X) @each_build@\n" @ONLY)
include_directories(${CMAKE_CURRENT_BINARY_DIR}/generated)
