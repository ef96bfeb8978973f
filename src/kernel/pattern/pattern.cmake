# Segments from hits alone: the same hits, the same segments on every machine.

add_kernel_module(_pattern src/kernel/bindings/pattern.cpp)
target_compile_options(_pattern PRIVATE ${exact_options})
