#pragma once
// Hits of one event for the searches: columns of the table of hits, and where the hits of each plane begin.

#include <cstddef>
#include <vector>

namespace parkf::pattern {

/// Columns of all hits, sorted by event and plane; lengths in mm.
struct Columns {
  const int* plane;
  const double *x, *y, *z, *dxdy;
};

/// Rows `begin` to `end` are the hits of one event.
struct Event {
  const Columns* columns;
  std::size_t begin, end;
};

/// Rows of the hits of each found segment, `slots` of them, -1 for an empty one.
using Rows = std::vector<long>;

}  // namespace parkf::pattern
