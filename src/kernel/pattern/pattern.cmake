# Segments from hits alone. Products and sums are rounded apart: the same hits, the same segments on every machine.

add_kernel_module(_pattern src/kernel/bindings/pattern.cpp)
target_compile_options(_pattern PRIVATE -O3 -fno-math-errno -fno-trapping-math -ffp-contract=off)
