#pragma once
// A file as bytes, with a limit of its size, and the error that readers see.

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace parkf {

/// What is wrong with a set or a batch: file, place, got, expected.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

constexpr std::uintmax_t largest_file = 64 << 20;

/// A file's bytes, at most 64 MiB; its size is checked before anything is read.
inline std::string read_file(const std::filesystem::path& path) {
  std::error_code problem;
  // A pipe or a device would have no size, or no end.
  if (!std::filesystem::is_regular_file(path, problem)) {
    const char* kind = std::filesystem::is_directory(path, problem) ? ", it is a folder" : "";
    throw Error(path.string() + ": no such file" + kind +
                "; expected a set as one file: `parkf params export VERSION FILE --format binary` writes it");
  }
  const std::uintmax_t size = std::filesystem::file_size(path, problem);
  if (problem || size > largest_file) {
    throw Error(path.string() + ": " + std::to_string(size) + " bytes, expected at most " +
                std::to_string(largest_file));
  }
  std::string content(static_cast<std::size_t>(size), '\0');
  std::ifstream stream(path, std::ios::binary);
  if (!stream.read(content.data(), static_cast<std::streamsize>(size)) && size > 0) {
    throw Error(path.string() + ": cannot be read");
  }
  return content;
}

}  // namespace parkf
