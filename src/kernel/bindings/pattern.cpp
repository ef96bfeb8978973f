// Python module parkf._pattern: segments from hits alone; parkf.simulation.pattern is its front.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstring>
#include <memory>
#include <stdexcept>

#include "fit/kind.hpp"
#include "pattern/event.hpp"
#include "pattern/scifi.hpp"
#include "pattern/velo.hpp"

namespace nb = nanobind;

namespace parkf::pattern {
namespace {

template <class S>
using In = nb::ndarray<const S, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// A NumPy array (n, slots) of rows.
nb::ndarray<nb::numpy, long> given(const Rows& rows, std::size_t slots) {
  auto values = std::make_unique<long[]>(rows.size());
  std::copy(rows.begin(), rows.end(), values.get());
  long* kept = values.release();
  return {kept, {rows.size() / slots, slots}, nb::capsule(kept, [](void* p) noexcept { delete[] static_cast<long*>(p); })};
}

/// Run a search over events, which begin at the rows `first`; the last event ends with the rows.
template <class Search>
nb::ndarray<nb::numpy, long> over(Search& search, const In<long>& first, const In<int>& plane, const In<double>& x,
                                  const In<double>& y, const In<double>& z, const In<double>& dxdy,
                                  std::size_t slots) {
  const std::size_t count = plane.shape(0);
  for (const auto* column : {&x, &y, &z, &dxdy})
    if (column->shape(0) != count) throw std::invalid_argument("hits: columns differ in length");
  const Columns columns{plane.data(), x.data(), y.data(), z.data(), dxdy.data()};
  Rows found;
  {
    nb::gil_scoped_release released;
    for (std::size_t i = 0; i < first.shape(0); ++i) {
      const std::size_t end = i + 1 < first.shape(0) ? static_cast<std::size_t>(first.data()[i + 1]) : count;
      search.run({&columns, static_cast<std::size_t>(first.data()[i]), end}, found);
    }
  }
  return given(found, slots);
}

}  // namespace
}  // namespace parkf::pattern

NB_MODULE(_pattern, module) {
  using namespace nb::literals;
  using namespace parkf::pattern;
  module.doc() = "Compiled searches for segments; parkf.simulation.pattern is their front.";
  // Here, because a search depends on no formula of a step: candidates stay as they are when a formula changes.
  nb::list kinds;
  for (const parkf::kalman::Kind& one : parkf::kalman::kinds) {
    kinds.append(nb::make_tuple(one.name, one.meaning, one.velo, one.ut, one.scifi));
  }
  module.attr("kinds") = kinds;
  module.def(
      "velo_segments",
      [](const In<long>& first, const In<int>& plane, const In<double>& x, const In<double>& y, const In<double>& z,
         const In<double>& dxdy, int modules, int fewest, int slots, double beam_x, double beam_y, double azimuth,
         double displaced, double steepest, double kink, double offset, double chi2, double error) {
        VeloSearch search({modules, fewest, slots, beam_x, beam_y, azimuth, displaced, steepest, kink, offset, chi2, error});
        return over(search, first, plane, x, y, z, dxdy, static_cast<std::size_t>(slots));
      },
      "Rows (n, slots) of the hits of VELO segments, in ascending z, -1 behind the last.", "first"_a, "plane"_a, "x"_a,
      "y"_a, "z"_a, "dxdy"_a, nb::kw_only(), "modules"_a, "fewest"_a, "slots"_a, "beam_x"_a, "beam_y"_a, "azimuth"_a,
      "displaced"_a, "steepest"_a, "kink"_a, "offset"_a, "chi2"_a, "error"_a);
  module.def(
      "scifi_segments",
      [](const In<long>& first, const In<int>& plane, const In<double>& x, const In<double>& y, const In<double>& z,
         const In<double>& dxdy, int first_plane, int fewest, int fewest_x, int fewest_stereo, double z_reference,
         double cubic_ratio, double curvature, double farthest, double middle, double middle_share, double window,
         double focusing, double y_origin, double y_origin_share, double half_height, double chi2_x, double chi2, double error, int shared) {
        SciFiSearch search({first_plane, fewest, fewest_x, fewest_stereo, z_reference, cubic_ratio, curvature, farthest,
                            middle, middle_share, window, focusing, y_origin, y_origin_share, half_height, chi2_x, chi2, error, shared});
        return over(search, first, plane, x, y, z, dxdy, scifi_layers);
      },
      "Rows (n, 12) of the hits of SciFi segments, -1 where a layer has none.", "first"_a, "plane"_a, "x"_a, "y"_a,
      "z"_a, "dxdy"_a, nb::kw_only(), "first_plane"_a, "fewest"_a, "fewest_x"_a, "fewest_stereo"_a, "z_reference"_a,
      "cubic_ratio"_a, "curvature"_a, "farthest"_a, "middle"_a, "middle_share"_a, "window"_a, "focusing"_a, "y_origin"_a,
      "y_origin_share"_a, "half_height"_a, "chi2_x"_a, "chi2"_a, "error"_a, "shared"_a);
}
