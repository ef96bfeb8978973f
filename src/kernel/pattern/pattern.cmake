# Segments from hits alone. Products and sums are rounded apart: the same hits, the same segments on every machine.

nanobind_add_module(_pattern STABLE_ABI NB_STATIC src/kernel/bindings/pattern.cpp)
target_include_directories(_pattern PRIVATE src/kernel)
target_compile_options(_pattern PRIVATE -O3 -fno-math-errno -fno-trapping-math -ffp-contract=off)
install(TARGETS _pattern LIBRARY DESTINATION parkf)
