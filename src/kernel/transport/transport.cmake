# Field, Runge-Kutta, material and detector simulation: everything that moves a true particle. Only what carries
# particles in lanes is built for each instruction set; no build may join a product and a sum into one rounding, so that
# all give the same bits.

set(transport_options -O3 -fno-math-errno -fno-trapping-math -ffp-contract=off -Wno-psabi)

function(add_carrier build lanes)
  if(NOT build IN_LIST instruction_sets)
    return()
  endif()
  add_library(carrier_${build} OBJECT src/kernel/transport/carry_lanes.cpp)
  set_target_properties(carrier_${build} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden)
  target_include_directories(carrier_${build} PRIVATE src/kernel)
  target_compile_options(carrier_${build} PRIVATE ${transport_options} ${ARGN} -DPARKF_BUILD=${build}
                                                  -DPARKF_LANES=${lanes})
  target_sources(_transport PRIVATE $<TARGET_OBJECTS:carrier_${build}>)
endfunction()

nanobind_add_module(_transport STABLE_ABI NB_STATIC src/kernel/bindings/transport.cpp src/kernel/transport/carriers.cpp)
target_include_directories(_transport PRIVATE src/kernel)
target_compile_options(_transport PRIVATE ${transport_options})
target_link_libraries(_transport PRIVATE Threads::Threads)
install(TARGETS _transport LIBRARY DESTINATION parkf)

add_carrier(plain 4 ${plain_effort})
add_carrier(v2 4 -march=x86-64-v2)
add_carrier(v3 8 -march=x86-64-v3)
add_carrier(v4 8 -march=x86-64-v4 -mprefer-vector-width=512)
