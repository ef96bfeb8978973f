// Fits a file of track candidates with a published parameter set:
//
//     fit SET SHA256 CANDIDATES OUTPUT [THREADS [KIND]]
//
// `parkf params export VERSION SET --format binary` writes SET, and prints its SHA256: keep it with your results.
// KIND is long, upstream, downstream, scifi, or electron: long tracks that are fitted as electrons.
// CANDIDATES and OUTPUT are plain float32 and int32, little-endian. `tracks.py` in this folder makes CANDIDATES from
// one of parkf's Parquet files, and reads OUTPUT.

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>

#include "parkf.hpp"

namespace {

template <class T>
void read(std::ifstream& stream, std::vector<T>& values) {
  if (!stream.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(sizeof(T) * values.size()))) {
    throw parkf::Error("candidates: the file is too short for its number of tracks");
  }
}

template <class T>
void write(std::ofstream& stream, const std::vector<T>& values) {
  stream.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(sizeof(T) * values.size()));
}

/// Reads the number of tracks, then the arrays of parkf::Tracks, each filled up to a multiple of 16 tracks.
parkf::Tracks<float> read_tracks(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::vector<std::int32_t> count(1);
  read(stream, count);
  constexpr std::uintmax_t bytes_of_one = 4 * (3 + 3 * 26 + 4 * 4 + 4 * 12);
  // Memory for more tracks than the file can hold is not allocated.
  if (count[0] < 0 || static_cast<std::uintmax_t>(count[0]) > std::filesystem::file_size(path) / bytes_of_one) {
    throw parkf::Error("candidates: " + std::to_string(count[0]) + " tracks are not in this file");
  }
  parkf::Tracks<float> tracks(static_cast<std::size_t>(count[0]));
  read(stream, tracks.polarity);
  read(stream, tracks.qop);
  read(stream, tracks.velo_n);
  read(stream, tracks.velo);
  read(stream, tracks.ut);
  read(stream, tracks.scifi);
  return tracks;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5 || argc > 7) {
    std::cerr << "usage: fit SET SHA256 CANDIDATES OUTPUT [THREADS [KIND]]\n";
    return 2;
  }
  try {
    const auto set = parkf::ParameterSet::load(argv[1], argv[2]);
    const auto tracks = read_tracks(argv[3]);
    const int threads = argc > 5 ? std::atoi(argv[5]) : 1;
    const std::string kind = argc == 7 ? argv[6] : "long";
    const auto fitted = kind == "electron" ? parkf::fit_electrons(set, tracks, threads)
                                           : parkf::fit(set, tracks, kind, threads);
    std::ofstream output(argv[4], std::ios::binary);
    write(output, fitted.numbers);
    write(output, fitted.integers);
    output.close();
    if (!output) throw parkf::Error(std::string(argv[4]) + ": cannot be written");
    std::size_t good = 0;
    for (std::size_t i = 0; i < fitted.count; ++i) good += fitted.good(i);
    std::cout << fitted.count << " tracks, " << good << " good fits, with set " << set.version << " of forms '"
              << set.forms->name << "'\n";
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
