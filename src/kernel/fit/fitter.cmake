# The fitter: C++ generated from the symbolic steps, one build of the kernel for each set of forms and instruction
# set, the module.

file(GLOB formulas CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/parkf/model/steps/*.py
     ${PROJECT_SOURCE_DIR}/src/parkf/model/codegen/*.py ${PROJECT_SOURCE_DIR}/src/parkf/model/layout/*.py)
# Layouts that are published: the kernel fits with their sets, too, when today's formulas are others.
set(published ${PROJECT_SOURCE_DIR}/params/layouts)
file(GLOB published_files CONFIGURE_DEPENDS ${published}/*.json)
# In front of where pip puts what a build needs.
set(sources ${PROJECT_SOURCE_DIR}/src)
if(DEFINED ENV{PYTHONPATH})
  string(APPEND sources ":$ENV{PYTHONPATH}")
endif()
set(generator ${CMAKE_COMMAND} -E env PYTHONPATH=${sources} ${Python_EXECUTABLE} -m parkf.model.codegen ${published})
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${formulas} ${published_files})
execute_process(COMMAND ${generator} OUTPUT_VARIABLE forms OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)

set(generated ${CMAKE_CURRENT_BINARY_DIR}/generated)
set(generated_files ${generated}/all_forms.hpp ${generated}/slices_generated.hpp)
foreach(name IN LISTS forms)
  list(APPEND generated_files ${generated}/${name}/steps_generated.hpp ${generated}/${name}/steps_by_name.hpp
       ${generated}/${name}/layout.json)
endforeach()
add_custom_command(
  OUTPUT ${generated_files}
  COMMAND ${generator} ${generated}
  DEPENDS ${formulas} ${published_files}
  COMMENT "Generating C++ from the formulas in parkf.model.steps")
add_custom_target(generate_steps DEPENDS ${generated_files})

# errno after a square root would keep it out of vector registers; nothing reads it.
set(fitter_options -O3 -fno-math-errno -fno-trapping-math -Wno-psabi)

function(add_fitter_part part source)
  foreach(name IN LISTS forms)
    set(target ${part}_${name})
    add_library(${target} OBJECT src/kernel/fit/${source})
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden)
    target_include_directories(${target} PRIVATE src/kernel ${generated}/${name})
    target_compile_options(${target} PRIVATE ${fitter_options} ${ARGN})
    add_dependencies(${target} generate_steps)
  endforeach()
endfunction()

set(fit_parts fit clean outlier residuals rich robust score kind)
function(add_fitter_build build bytes)
  if(NOT build IN_LIST instruction_sets)
    return()
  endif()
  foreach(part IN LISTS fit_parts)
    add_fitter_part(${part}_${build} ${part}_lanes.cpp ${ARGN} -DPARKF_BUILD=${build} -DPARKF_LANE_BYTES=${bytes})
  endforeach()
endfunction()

add_fitter_part(forms forms.cpp)
add_fitter_build(plain 0 ${plain_effort})
add_fitter_build(v2 16 -march=x86-64-v2)
add_fitter_build(v3 32 -march=x86-64-v3 -ffp-contract=fast)
# 512-bit registers are the point of v4; compilers would stop at 256. Tuned for no processor in particular, the code
# is 4% slower (Zen 4).
add_fitter_build(v4 64 -march=x86-64-v4 -mtune=skylake-avx512 -mprefer-vector-width=512 -ffp-contract=fast)

nanobind_add_module(_fitter STABLE_ABI NB_STATIC src/kernel/bindings/fitter.cpp)
target_include_directories(_fitter PRIVATE src/kernel ${generated})
add_dependencies(_fitter generate_steps)
target_compile_options(_fitter PRIVATE -O3)
target_link_libraries(_fitter PRIVATE Threads::Threads)
foreach(name IN LISTS forms)
  target_sources(_fitter PRIVATE $<TARGET_OBJECTS:forms_${name}>)
  foreach(part IN LISTS fit_parts)
    foreach(build IN LISTS instruction_sets)
      target_sources(_fitter PRIVATE $<TARGET_OBJECTS:${part}_${build}_${name}>)
    endforeach()
  endforeach()
endforeach()
install(TARGETS _fitter LIBRARY DESTINATION parkf)

# Steps inside the magnet, the same for all sets of forms.
nanobind_add_module(_slices STABLE_ABI NB_STATIC src/kernel/bindings/slices.cpp)
target_include_directories(_slices PRIVATE src/kernel ${generated})
add_dependencies(_slices generate_steps)
target_compile_options(_slices PRIVATE -O3)
target_link_libraries(_slices PRIVATE Threads::Threads)
function(add_slices build bytes)
  if(NOT build IN_LIST instruction_sets)
    return()
  endif()
  add_library(slices_${build} OBJECT src/kernel/fit/slices_lanes.cpp)
  set_target_properties(slices_${build} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden)
  target_include_directories(slices_${build} PRIVATE src/kernel ${generated})
  target_compile_options(slices_${build} PRIVATE ${fitter_options} ${ARGN} -DPARKF_BUILD=${build}
                                                 -DPARKF_LANE_BYTES=${bytes})
  add_dependencies(slices_${build} generate_steps)
  target_sources(_slices PRIVATE $<TARGET_OBJECTS:slices_${build}>)
endfunction()
add_slices(plain 0 ${plain_effort})
add_slices(v2 16 -march=x86-64-v2)
add_slices(v3 32 -march=x86-64-v3 -ffp-contract=fast)
add_slices(v4 64 -march=x86-64-v4 -mtune=skylake-avx512 -mprefer-vector-width=512 -ffp-contract=fast)
install(TARGETS _slices LIBRARY DESTINATION parkf)

# For CuPy, which compiles them at run time, and for C++ users.
set(fit_headers status tile shared_tile ahead state parabola measurement track velo after_velo magnet magnet_lanes magnet_block downstream
    beamline smoother outlier trigger_state trigger_steps trigger record later interval rich treatment kink robust robust_layout
    robust_track score score_layout slices kind behind_velo fit_kind)
list(TRANSFORM fit_headers PREPEND src/kernel/fit/)
list(TRANSFORM fit_headers APPEND .hpp)
install(FILES ${fit_headers} src/kernel/fit/fit.cu src/kernel/fit/robust.cu DESTINATION parkf/kernel/fit)
install(FILES src/kernel/numbers/number.hpp src/kernel/numbers/lanes.hpp DESTINATION parkf/kernel/numbers)
install(FILES ${generated}/slices_generated.hpp DESTINATION parkf/kernel)
foreach(name IN LISTS forms)
  install(FILES ${generated}/${name}/steps_generated.hpp ${generated}/${name}/layout.json DESTINATION parkf/kernel/${name})
endforeach()
