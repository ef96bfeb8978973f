# The full fit: one build of the kernel for each instruction set, the module.

# All builds give the same bits: products and sums are rounded apart, as where there is no instruction for both. errno
# after a square root would keep it out of vector registers; nothing reads it.
set(full_fit_options -O3 -fno-math-errno -fno-trapping-math -ffp-contract=off -Wno-psabi)

add_kernel_module(_full_fit src/kernel/bindings/full_fit.cpp)
target_compile_options(_full_fit PRIVATE -O3)
add_builds(_full_fit full_fit src/kernel/full_fit/full_fit_lanes.cpp OPTIONS ${full_fit_options})
