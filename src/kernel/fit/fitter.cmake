# The fitter: C++ generated from the symbolic steps, one build of the kernel for each set of forms and instruction
# set, the module.

file(GLOB formulas CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/parkf/model/steps/*.py
     ${PROJECT_SOURCE_DIR}/src/parkf/model/codegen/*.py ${PROJECT_SOURCE_DIR}/src/parkf/model/layout/*.py)
# Layouts that are published: the kernel fits with their sets, too, when today's formulas are others.
set(published ${PROJECT_SOURCE_DIR}/params/layouts)
file(GLOB published_files CONFIGURE_DEPENDS ${published}/*.json)
# Python finds the package in the folder where it starts. An isolated build drops src from any other path if the
# environment has an editable installation.
set(sources ${PROJECT_SOURCE_DIR}/src)
set(generator ${Python_EXECUTABLE} -m parkf.model.codegen ${published})
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${formulas} ${published_files})
execute_process(COMMAND ${generator} WORKING_DIRECTORY ${sources} OUTPUT_VARIABLE forms OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)

set(generated ${CMAKE_CURRENT_BINARY_DIR}/generated)
set(generated_files ${generated}/all_forms.hpp ${generated}/slices_generated.hpp)
foreach(name IN LISTS forms)
  list(APPEND generated_files ${generated}/${name}/steps_generated.hpp ${generated}/${name}/steps_by_name.hpp
       ${generated}/${name}/layout.json)
endforeach()
add_custom_command(
  OUTPUT ${generated_files}
  COMMAND ${generator} ${generated}
  WORKING_DIRECTORY ${sources}
  DEPENDS ${formulas} ${published_files}
  COMMENT "Generating C++ from the formulas in parkf.model.steps")
add_custom_target(generate_steps DEPENDS ${generated_files})

# errno after a square root would keep it out of vector registers; nothing reads it.
set(fitter_options -O3 -fno-math-errno -fno-trapping-math -ffp-contract=fast -Wno-psabi)

add_kernel_module(_fitter src/kernel/bindings/fitter.cpp)
# Steps inside the magnet, the same for all sets of forms.
add_kernel_module(_slices src/kernel/bindings/slices.cpp)
foreach(module _fitter _slices)
  target_include_directories(${module} PRIVATE ${generated})
  target_compile_options(${module} PRIVATE -O2)
  add_dependencies(${module} generate_steps)
endforeach()
# Momenta of electrons.
add_kernel_module(_electron src/kernel/bindings/electron.cpp)
target_compile_options(_electron PRIVATE -O3)
add_builds(_slices slices src/kernel/fit/slices_lanes.cpp GENERATED ${generated} OPTIONS ${fitter_options})
foreach(name IN LISTS forms)
  # One track at a time: the hop through the magnet in training, and tests and comparisons. With -O3, compilers take
  # three times as long, and it is as fast.
  add_part(_fitter forms_${name} src/kernel/fit/forms.cpp GENERATED ${generated}/${name}
           OPTIONS ${fitter_options} -O2 -DPARKF_CALLS -DPARKF_COPY="forms")
  foreach(part fit rich robust score kind)
    add_builds(_fitter ${part}_${name} src/kernel/fit/${part}_lanes.cpp
               GENERATED ${generated}/${name} OPTIONS ${fitter_options})
  endforeach()
  # Forced inlining makes its code so long that it gains nothing.
  add_builds(_fitter residuals_${name} src/kernel/fit/residuals_lanes.cpp
             GENERATED ${generated}/${name} OPTIONS ${fitter_options} -DPARKF_CALLS)
endforeach()

# For CuPy, which compiles them at run time, and for C++ users.
install(DIRECTORY src/kernel/fit src/kernel/numbers DESTINATION parkf/kernel
        FILES_MATCHING PATTERN "*.hpp" PATTERN "*.cu")
install(FILES ${generated}/slices_generated.hpp DESTINATION parkf/kernel)
foreach(name IN LISTS forms)
  install(FILES ${generated}/${name}/steps_generated.hpp ${generated}/${name}/layout.json DESTINATION parkf/kernel/${name})
endforeach()
