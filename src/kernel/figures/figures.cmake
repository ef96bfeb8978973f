# Widths of distributions: the same bits on every machine.

add_kernel_module(_figures src/kernel/bindings/figures.cpp)
target_compile_options(_figures PRIVATE ${exact_options})
