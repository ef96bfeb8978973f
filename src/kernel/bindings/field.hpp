#pragma once
// A field map as Python hands it over, known to every module.

#include <nanobind/ndarray.h>

#include "transport/field.hpp"

namespace parkf::transport {

using Nodes = nanobind::ndarray<const float, nanobind::ndim<4>, nanobind::c_contig, nanobind::device::cpu>;

/// A grid together with the array that it looks into.
struct Field {
  Nodes nodes;
  FieldGrid grid;
};

}  // namespace parkf::transport
