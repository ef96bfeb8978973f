# The full fit: one build of the kernel for each instruction set, the module.

# All builds give the same bits: products and sums are rounded apart, as where there is no instruction for both. errno
# after a square root would keep it out of vector registers; nothing reads it.
set(full_fit_options -O3 -fno-math-errno -fno-trapping-math -ffp-contract=off -Wno-psabi)

nanobind_add_module(_full_fit STABLE_ABI NB_STATIC src/kernel/bindings/full_fit.cpp)
target_include_directories(_full_fit PRIVATE src/kernel)
target_compile_options(_full_fit PRIVATE -O3)
target_link_libraries(_full_fit PRIVATE Threads::Threads)

function(add_full_fit_build build bytes)
  if(NOT build IN_LIST instruction_sets)
    return()
  endif()
  add_library(full_fit_${build} OBJECT src/kernel/full_fit/full_fit_lanes.cpp)
  set_target_properties(full_fit_${build} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden)
  target_include_directories(full_fit_${build} PRIVATE src/kernel)
  target_compile_options(full_fit_${build} PRIVATE ${full_fit_options} ${ARGN} -DPARKF_BUILD=${build}
                         -DPARKF_LANE_BYTES=${bytes})
  target_sources(_full_fit PRIVATE $<TARGET_OBJECTS:full_fit_${build}>)
endfunction()

add_full_fit_build(plain 0 ${plain_effort})
add_full_fit_build(v2 16 -march=x86-64-v2)
add_full_fit_build(v3 32 -march=x86-64-v3)
# As of the fitter: 512-bit registers are the point of v4.
add_full_fit_build(v4 64 -march=x86-64-v4 -mtune=skylake-avx512 -mprefer-vector-width=512)

install(TARGETS _full_fit LIBRARY DESTINATION parkf)
