#pragma once
// Prefetches the rows of the next tracks while tracks are fitted. There are too many streams of rows for the hardware
// to prefetch, and requests for all rows at once would stall the fit.

#include "fit/kind.hpp"
#include "fit/track.hpp"

namespace parkf::kalman {

/// The rows of the next tracks; those of the detectors of their kind are prefetched.
struct Ahead {
  const Kind* kind;
  const void* velo[3];
  const void* ut[4];
  const void* scifi[4];

  /// Prefetch one part of the rows of the tracks in one T. There are as many parts as SciFi layers.
  template <class T>
  KERNEL_FUNCTION void fetch(int part) const {
    if (kind->velo) {
      for (const void* rows : velo) fetch_rows<velo_slots * sizeof(T)>(rows, part);
    }
    if (kind->ut) {
      for (const void* rows : ut) fetch_rows<ut_layers * sizeof(T)>(rows, part);
    }
    if (kind->scifi) {
      for (const void* rows : scifi) fetch_rows<scifi_layers * sizeof(T)>(rows, part);
    }
  }

 private:
  template <long bytes>
  KERNEL_FUNCTION static void fetch_rows(const void* first, int part) {
    constexpr int line = 64, lines = (bytes + line - 1) / line, each = lines / scifi_layers;
    const char* from = static_cast<const char*>(first) + part * line;
    for (int i = 0; i < each; ++i) prefetch(from + i * scifi_layers * line);
    if (part < lines - each * scifi_layers) prefetch(from + each * scifi_layers * line);
  }
};

}  // namespace parkf::kalman
