// Feeds the C++ reader manifests that nobody would write: the reader may refuse them, but must not fail otherwise.
//
//     parkf params header parkf.hpp && tar xf corpus.tar.xz --one-top-level=corpus
//     clang++ -std=c++17 -g -O2 -Wno-psabi -fsanitize=fuzzer,address,undefined -I. fuzz.cpp -o fuzz
//     PARKF_FUZZ_SET=<scratch folder with the blobs of a whole set>
//         ./fuzz corpus -max_total_time=600 -max_len=8192 -malloc_limit_mb=64
//
// With -DPARKF_REPLAY and any compiler, it prints the reader's verdict on the files in its arguments.

#include <cstdlib>
#include <iostream>

#include "parkf.hpp"

namespace {

std::filesystem::path folder() {
  const char* name = std::getenv("PARKF_FUZZ_SET");
  if (name == nullptr) {
    std::cerr << "PARKF_FUZZ_SET must name a folder with the blobs of a whole set\n";
    std::exit(2);
  }
  return name;
}

}  // namespace

/// The reason why the reader refuses a manifest; empty when it does not refuse.
std::string refusal(const char* data, std::size_t size) {
  static const std::filesystem::path set = folder();
  std::ofstream(set / "manifest.json", std::ios::binary).write(data, static_cast<std::streamsize>(size));
  try {
    parkf::ParameterSet::load(set);
  } catch (const parkf::Error& error) {
    return std::string(error.what()).substr(set.string().size());
  }
  return "";
}

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  refusal(reinterpret_cast<const char*>(data), size);
  return 0;
}

#if defined(PARKF_REPLAY)
int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    std::ifstream stream(argv[i], std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    std::string said = refusal(text.data(), text.size());
    for (char& c : said) c = c == '\n' ? ' ' : c;
    std::cout << (said.empty() ? "loaded" : said) << '\n';
  }
  return 0;
}
#endif
