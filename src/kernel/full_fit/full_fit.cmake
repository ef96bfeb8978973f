# The full fit: one build of the kernel for each instruction set, the module.

add_kernel_module(_full_fit src/kernel/bindings/full_fit.cpp)
target_compile_options(_full_fit PRIVATE -O3)
add_builds(_full_fit full_fit src/kernel/full_fit/full_fit_lanes.cpp OPTIONS ${exact_options})
