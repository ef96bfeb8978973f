#pragma once
// Files as bytes, with a limit of their size, and the error that readers see.

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "sha256.hpp"

namespace parkf {

/// What is wrong with a set, a registry or a batch: file, place, got, expected.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A file's bytes; its size is checked before anything is read.
inline std::string read_file(const std::filesystem::path& path, std::uintmax_t bytes, const std::string& expected,
                             bool exactly) {
  std::error_code problem;
  // A pipe or a device would have no size, or no end.
  const std::filesystem::file_status there = std::filesystem::status(path, problem);
  if (!std::filesystem::is_regular_file(there)) {
    const char* kind = std::filesystem::is_directory(there) ? ", it is a folder"
                       : std::filesystem::exists(there)     ? ", it is a device or a pipe"
                                                            : "";
    throw Error(path.string() + ": no such file" + kind +
                "; expected a file: correct the name, or make the file first");
  }
  const std::uintmax_t size = std::filesystem::file_size(path, problem);
  if (problem || (exactly ? size != bytes : size > bytes)) {
    throw Error(path.string() + ": " + std::to_string(size) + " bytes, expected " + expected);
  }
  std::string content(static_cast<std::size_t>(size), '\0');
  std::ifstream stream(path, std::ios::binary);
  if (!stream.read(content.data(), static_cast<std::streamsize>(size)) && size > 0) {
    throw Error(path.string() + ": cannot be read");
  }
  return content;
}

constexpr std::uintmax_t largest_document = 4 << 20;

/// A file of text, at most 4 MiB.
inline std::string read_file(const std::filesystem::path& path) {
  return read_file(path, largest_document, "at most " + std::to_string(largest_document), false);
}

}  // namespace parkf
