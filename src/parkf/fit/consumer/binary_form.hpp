#pragma once
// Reads the binary form of a parameter set, which parkf.params.binary_form describes.

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "files.hpp"

namespace parkf {

/// Goes through the bytes once, from the first to the last. What would lie beyond the last is an error.
class BinaryForm {
 public:
  BinaryForm(std::string_view bytes, std::string where) : bytes_(bytes), where_(std::move(where)) {}

  [[noreturn]] void fail(const std::string& what) const { throw Error(where_ + ": " + what); }

  std::string_view take(std::size_t count) {
    if (count > bytes_.size() - at_) fail("ends too early; export the set again");
    at_ += count;
    return bytes_.substr(at_ - count, count);
  }
  std::uint32_t integer() { return word<std::uint32_t>(); }
  std::string text() { return std::string(take(integer())); }
  std::vector<double> doubles() { return numbers<double, std::uint64_t>(); }
  std::vector<float> floats() { return numbers<float, std::uint32_t>(); }
  /// Refuse bytes that are left.
  void end() const {
    if (at_ != bytes_.size()) fail(std::to_string(bytes_.size() - at_) + " bytes more than expected; export the set again");
  }

 private:
  template <class Word>
  Word word() {
    Word result = 0;
    const std::string_view bytes = take(sizeof(Word));
    for (std::size_t i = sizeof(Word); i-- > 0;) result = result << 8 | static_cast<unsigned char>(bytes[i]);
    return result;
  }
  template <class Number, class Word>
  std::vector<Number> numbers() {
    const std::size_t count = integer();
    // Memory for more numbers than there are bytes is not allocated.
    if (count > (bytes_.size() - at_) / sizeof(Number)) fail("ends too early; export the set again");
    std::vector<Number> result(count);
    for (Number& number : result) {
      const Word bits = word<Word>();
      std::memcpy(&number, &bits, sizeof bits);
    }
    return result;
  }

  std::string_view bytes_;
  std::string where_;
  std::size_t at_ = 0;
};

}  // namespace parkf
