# Field, Runge-Kutta, material and detector simulation: everything that moves a true particle. Only what carries
# particles in lanes is built for each instruction set; no build may join a product and a sum into one rounding, so that
# all give the same bits.

set(transport_options -O3 -fno-math-errno -fno-trapping-math -ffp-contract=off -Wno-psabi)

add_kernel_module(_transport src/kernel/bindings/transport.cpp src/kernel/transport/carriers.cpp)
target_compile_options(_transport PRIVATE ${transport_options})
add_builds(_transport carrier src/kernel/transport/carry_lanes.cpp OPTIONS ${transport_options})
