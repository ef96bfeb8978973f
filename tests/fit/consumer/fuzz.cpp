// Feeds the C++ reader bytes that nobody would write: the reader may refuse them, but must not fail otherwise.
//
//     parkf params header parkf.hpp && parkf params export VERSION corpus/set.parkf --format binary
//     clang++ -std=c++17 -g -O2 -Wno-psabi -fsanitize=fuzzer,address,undefined -I. fuzz.cpp -o fuzz
//     ./fuzz corpus -max_total_time=600 -max_len=2000000 -malloc_limit_mb=64

#include "parkf.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  try {
    parkf::ParameterSet::parse({reinterpret_cast<const char*>(data), size}, "set");
  } catch (const parkf::Error&) {
  }
  return 0;
}
