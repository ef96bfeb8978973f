# Field, Runge-Kutta, material and detector simulation: everything that moves a true particle. Only what carries
# particles in lanes, and takes them through material, is built for each instruction set.

add_kernel_module(_transport src/kernel/bindings/transport.cpp src/kernel/transport/carriers.cpp)
target_compile_options(_transport PRIVATE ${exact_options})
add_builds(_transport carrier src/kernel/transport/carry_lanes.cpp OPTIONS ${exact_options})
