#pragma once
// Hits of one event for the searches: columns of the table of hits, and the rows that belong to the event.

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

/// Rows of the hits of each found segment. A segment has `slots` rows; -1 is an empty slot.
using Rows = std::vector<long>;

}  // namespace parkf::pattern
