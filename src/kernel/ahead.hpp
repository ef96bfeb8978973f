#pragma once
// Memory that will be wanted, asked for while tracks are fitted: it comes in too many streams for the hardware to
// foresee, and asked for all at once it would be waited for.

#include "track.hpp"

namespace parkf::kalman {

/// The rows of the next tracks, and where these ones' results go.
struct Ahead {
  struct Quantities {
    const void* first;
    long step;  // bytes from one to the next
    int count;
  };
  const void* velo[3];
  const void* ut[4];
  const void* scifi[4];
  Quantities numbers, integers;

  /// Ask for one of as many parts as there are SciFi layers, of tracks that run together as a T.
  template <class T>
  KERNEL_FUNCTION void fetch(int part) const {
    for (const void* rows : velo) fetch_rows<velo_slots * sizeof(T)>(rows, part);
    for (const void* rows : ut) fetch_rows<ut_layers * sizeof(T)>(rows, part);
    for (const void* rows : scifi) fetch_rows<scifi_layers * sizeof(T)>(rows, part);
    fetch_places(numbers, part);
    fetch_places(integers, part);
  }

 private:
  template <long bytes>
  KERNEL_FUNCTION static void fetch_rows(const void* first, int part) {
    constexpr int line = 64, lines = (bytes + line - 1) / line, each = lines / scifi_layers;
    const char* from = static_cast<const char*>(first) + part * line;
    for (int i = 0; i < each; ++i) fetch_to_read(from + i * scifi_layers * line);
    if (part < lines - each * scifi_layers) fetch_to_read(from + each * scifi_layers * line);
  }
  /// A cache line of each quantity.
  KERNEL_FUNCTION static void fetch_places(const Quantities& q, int part) {
    for (int i = part; i < q.count; i += scifi_layers) {
      fetch_to_write(static_cast<const char*>(q.first) + i * q.step);
    }
  }
};

}  // namespace parkf::kalman
