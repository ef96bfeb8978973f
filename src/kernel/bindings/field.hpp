#pragma once
// A field map that Python passes to the modules.

#include <nanobind/ndarray.h>

#include "transport/field.hpp"

namespace parkf::transport {

using Nodes = nanobind::ndarray<const float, nanobind::ndim<4>, nanobind::c_contig, nanobind::device::cpu>;

/// A grid, and the array of its nodes.
struct Field {
  Nodes nodes;
  FieldGrid grid;
};

}  // namespace parkf::transport
