# The instruction sets that the kernel is compiled for, the slowest first. A wheel has all of them. A checkout is
# compiled where it runs, and has two: the plain one, which runs everywhere, and the best one of this machine.
#
# builds.hpp lists the builds for C++, in angle brackets: fingerprints follow the headers in quotes, and which builds there
# are changes no result of any of them.

# The compiler's flags for each, and the bytes of its vectors; 0 is one number at a time.
set(bytes_plain 0)
set(flags_v2 -march=x86-64-v2)
set(bytes_v2 16)
set(flags_v3 -march=x86-64-v3)
set(bytes_v3 32)
# 512-bit registers are the point of v4; compilers would stop at 256. Tuned for no processor in particular, the fitter
# is 4% slower (Zen 4).
set(flags_v4 -march=x86-64-v4 -mtune=skylake-avx512 -mprefer-vector-width=512)
set(bytes_v4 64)

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
      set(flags_plain -O1 -DPARKF_CALLS)
    else()
      set(instruction_sets plain)
    endif()
  endif()
endif()
list(TRANSFORM instruction_sets PREPEND build_ OUTPUT_VARIABLE names)
list(TRANSFORM names PREPEND & OUTPUT_VARIABLE addresses)
list(JOIN names ", " names)
list(JOIN addresses ", " addresses)
file(CONFIGURE OUTPUT generated/builds.hpp @ONLY CONTENT
     "#pragma once\n#define PARKF_DECLARE_BUILDS extern const Build @names@;\n#define PARKF_ALL_BUILDS {@addresses@}\n")
include_directories(${CMAKE_CURRENT_BINARY_DIR}/generated)

# All builds with these options give the same bits: products and sums are rounded apart, as where there is no instruction
# for both. errno after a square root would keep it out of vector registers; nothing reads it.
set(exact_options -O3 -fno-math-errno -fno-trapping-math -ffp-contract=off -Wno-psabi)

# Compile a source for a module, with OPTIONS. Headers that derive from the formulas are in the folder GENERATED.
function(add_part module target source)
  cmake_parse_arguments(PARSE_ARGV 3 part "" "GENERATED" "OPTIONS")
  add_library(${target} OBJECT ${source})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden)
  target_include_directories(${target} PRIVATE src/kernel ${part_GENERATED})
  target_compile_options(${target} PRIVATE ${part_OPTIONS})
  if(part_GENERATED)
    add_dependencies(${target} generate_steps)
  endif()
  target_sources(${module} PRIVATE $<TARGET_OBJECTS:${target}>)
endfunction()

# The same for each instruction set; OPTIONS come last.
function(add_builds module target source)
  foreach(build IN LISTS instruction_sets)
    add_part(${module} ${target}_${build} ${source} ${ARGN} ${flags_${build}} -DPARKF_BUILD=${build}
             -DPARKF_LANE_BYTES=${bytes_${build}} -DPARKF_COPY="${build}")
  endforeach()
endfunction()

# A Python module that runs the kernel.
function(add_kernel_module module)
  nanobind_add_module(${module} STABLE_ABI NB_STATIC ${ARGN})
  # nanobind itself as one file, in half the time.
  foreach(library nanobind-static nanobind-static-abi3)
    if(TARGET ${library})
      set_target_properties(${library} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
    endif()
  endforeach()
  target_include_directories(${module} PRIVATE src/kernel)
  target_link_libraries(${module} PRIVATE Threads::Threads)
  install(TARGETS ${module} LIBRARY DESTINATION parkf)
endfunction()
