// What the C++ reader makes of manifests that nobody would write: it may refuse them, and nothing else.
//
//     clang++ -std=c++17 -g -O1 -fsanitize=fuzzer,address,undefined -I <folder of parkf.hpp> fuzz.cpp -o fuzz
//     ./fuzz corpus
//
// Without libFuzzer (-DPARKF_OWN_FUZZER, any compiler) it mutates the files of the corpus by itself:
//     ./fuzz CORPUS SET SECONDS
// SET is a whole set; its blobs are beside every manifest that is tried, in the folder PARKF_FUZZ_SET.

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <random>
#include <set>

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

/// Why the reader refuses a manifest; empty when it does not.
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

#if defined(PARKF_OWN_FUZZER)
namespace {

std::string slurp(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

class Mutator {
 public:
  explicit Mutator(unsigned seed) : random_(seed) {}
  std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }

  /// A few small changes: bytes, words of JSON, pieces moved, doubled or dropped.
  std::string operator()(std::string text, const std::string& other) {
    static const std::vector<std::string> words = {"{", "}", "[", "]", ",", ":", "\"", "\\u", "\\ud800", "null", "true",
                                                   "-", "1e999", "-0", "0.", "1E+", "NaN", "{}", "[]", "\xff", "\xc3",
                                                   "9999999999999999999999", "\"layout\"", "\"version\":", "\n"};
    for (std::size_t n = 1 + below(6); n > 0 && !text.empty(); --n) {
      const std::size_t at = below(text.size()), length = 1 + below(std::min<std::size_t>(text.size() - at, 300));
      switch (below(6)) {
        case 0: text[at] = static_cast<char>(below(256)); break;
        case 1: text.insert(at, words[below(words.size())]); break;
        case 2: text.erase(at, length); break;
        case 3: text.insert(below(text.size()), text.substr(at, length)); break;
        case 4: text.replace(at, length, words[below(words.size())]); break;
        default: text.insert(at, other.substr(other.empty() ? 0 : below(other.size()), length));
      }
    }
    return text;
  }

 private:
  std::mt19937 random_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: fuzz CORPUS SET SECONDS\n";
    return 2;
  }
  const std::filesystem::path corpus = argv[1], whole = argv[2], set = folder();
  std::filesystem::create_directories(set);
  for (const char* blob : {"constant.f32", "global.f32"}) {
    std::filesystem::copy_file(whole / blob, set / blob, std::filesystem::copy_options::overwrite_existing);
  }
  std::vector<std::string> texts{slurp(whole / "manifest.json")};
  std::set<std::string> reasons;
  for (const auto& file : std::filesystem::directory_iterator(corpus)) texts.push_back(slurp(file.path()));
  Mutator mutate(2026);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(std::atoi(argv[3]));
  long inputs = 0, loaded = 0;
  while (std::chrono::steady_clock::now() < end) {
    const std::string text = mutate(texts[mutate.below(texts.size())], texts[mutate.below(texts.size())]);
    const std::string said = refusal(text.data(), text.size());
    ++inputs;
    loaded += said.empty();
    // Inputs that reach a new refusal are worth keeping: its words, without numbers.
    std::string reason;
    for (const char c : said.substr(0, 80)) {
      if (std::isalpha(static_cast<unsigned char>(c)) || c == ' ') reason += c;
    }
    if (reasons.insert(reason).second && texts.size() < 300) {
      texts.push_back(text);
      std::ofstream(corpus / (std::to_string(texts.size()) + ".json"), std::ios::binary) << text;
    }
  }
  std::cout << inputs << " inputs, " << loaded << " of them whole sets, " << texts.size() << " kept as seeds, "
            << reasons.size() << " different refusals\n";
}
#endif
