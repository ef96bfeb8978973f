# The fitter: C++ generated from the symbolic steps, one build of the kernel for each instruction set, the module.

set(generated ${CMAKE_CURRENT_BINARY_DIR}/generated)
file(GLOB formulas CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/parkf/steps/*.py
     ${PROJECT_SOURCE_DIR}/src/parkf/codegen/*.py)
add_custom_command(
  OUTPUT ${generated}/steps_generated.hpp ${generated}/steps_by_name.hpp
  COMMAND ${CMAKE_COMMAND} -E env PYTHONPATH=${PROJECT_SOURCE_DIR}/src ${Python_EXECUTABLE} -m parkf.codegen ${generated}
  DEPENDS ${formulas}
  COMMENT "Generating C++ from the formulas in parkf.steps")
add_custom_target(generate_steps DEPENDS ${generated}/steps_generated.hpp ${generated}/steps_by_name.hpp)

# errno after a square root would keep it out of vector registers; nothing reads it.
set(fitter_options -O3 -fno-math-errno -fno-trapping-math -Wno-psabi)

function(add_fitter_build name bytes)
  add_library(fit_${name} OBJECT src/kernel/fit_lanes.cpp)
  set_target_properties(fit_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden)
  target_include_directories(fit_${name} PRIVATE src/kernel ${generated})
  target_compile_definitions(fit_${name} PRIVATE PARKF_BUILD=${name} PARKF_LANE_BYTES=${bytes})
  target_compile_options(fit_${name} PRIVATE ${fitter_options} ${ARGN})
  add_dependencies(fit_${name} generate_steps)
endfunction()

add_fitter_build(plain 0)
set(fitter_builds plain)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  add_fitter_build(v2 16 -march=x86-64-v2)
  add_fitter_build(v3 32 -march=x86-64-v3 -ffp-contract=fast)
  # 512-bit registers are the point of v4; compilers would stop at 256.
  add_fitter_build(v4 64 -march=x86-64-v4 -mprefer-vector-width=512 -ffp-contract=fast)
  list(APPEND fitter_builds v2 v3 v4)
endif()

nanobind_add_module(_fitter NB_STATIC src/kernel/bind_fitter.cpp)
add_dependencies(_fitter generate_steps)
target_include_directories(_fitter PRIVATE src/kernel ${generated})
target_compile_options(_fitter PRIVATE -O3)
target_link_libraries(_fitter PRIVATE Threads::Threads)
foreach(build IN LISTS fitter_builds)
  target_sources(_fitter PRIVATE $<TARGET_OBJECTS:fit_${build}>)
endforeach()
install(TARGETS _fitter LIBRARY DESTINATION parkf)

# For CuPy, which compiles them at run time, and for C++ users.
set(kernel_headers number lanes state measurement track velo magnet downstream beamline smoother forward_backward)
list(TRANSFORM kernel_headers PREPEND src/kernel/)
list(TRANSFORM kernel_headers APPEND .hpp)
install(FILES ${kernel_headers} src/kernel/fit.cu ${generated}/steps_generated.hpp DESTINATION parkf/kernel)
