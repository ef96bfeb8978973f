// Python module parkf._full_fit: the full fit of batches; parkf.fit.reference is its front.

#include <builds.hpp>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "bindings/field.hpp"
#include "bindings/kind_named.hpp"
#include "full_fit/batch.hpp"
#include "numbers/instruction_sets.hpp"
#include "threads/parallel.hpp"

namespace nb = nanobind;

namespace parkf::full_fit {

PARKF_DECLARE_BUILDS

namespace {

template <class S, std::size_t N>
using In = nb::ndarray<const S, nb::ndim<N>, nb::c_contig, nb::device::cpu>;

/// Builds that this machine can run, the fastest first.
std::vector<const Build*> builds() {
  return runnable(std::vector<const Build*>PARKF_ALL_BUILDS);
}

void expect(bool ok, const std::string& what) {
  if (!ok) throw std::invalid_argument("candidates: " + what);
}

template <std::size_t quantities>
void take(const std::array<In<double, 2>, quantities>& hits, std::size_t count, std::size_t slots,
          const double* (&rows)[quantities]) {
  for (std::size_t q = 0; q < quantities; ++q) {
    expect(hits[q].shape(0) == count && hits[q].shape(1) == slots,
           "expected arrays of hits (" + std::to_string(count) + ", " + std::to_string(slots) + ")");
    rows[q] = hits[q].data();
  }
}

/// A NumPy array (rows, count) that owns its memory.
template <class S>
nb::ndarray<nb::numpy, S> owned(std::unique_ptr<S[]> values, std::size_t rows, std::size_t count) {
  S* kept = values.release();
  return {kept, {rows, count}, nb::capsule(kept, [](void* p) noexcept { delete[] static_cast<S*>(p); })};
}

nb::tuple fit(const transport::Field& field, const transport::Detector& detector, int ut_plane, int scifi_plane,
              double velo_sigma, double beam_x, double beam_y, In<double, 1> polarity, In<double, 1> qop,
              In<int, 1> velo_n, const std::array<In<double, 2>, 3>& velo, const std::array<In<double, 2>, 4>& ut,
              const std::array<In<double, 2>, 4>& scifi, const std::string& kind, bool errors, const std::string& build,
              int threads) {
  const std::size_t count = qop.shape(0);
  const Build& chosen = build_named(builds(), build);
  auto numbers = std::make_unique<double[]>(all_numbers * count);
  auto integers = std::make_unique<int[]>(fitted_integers * count);
  Batch batch{field.grid,
              make_way(detector, {ut_plane, scifi_plane}, velo_sigma, beam_x, beam_y),
              {static_cast<long>(count), polarity.data(), qop.data(), velo_n.data(), {}, {}, {}},
              &kalman::kind_named(kind),
              errors,
              numbers.get(),
              integers.get()};
  expect(polarity.shape(0) == count && velo_n.shape(0) == count, "arrays differ in length");
  take(velo, count, velo_slots, batch.tracks.velo);
  take(ut, count, ut_layers, batch.tracks.ut);
  take(scifi, count, scifi_layers, batch.tracks.scifi);
  {
    nb::gil_scoped_release released;
    parkf::for_blocks(count, static_cast<std::size_t>(chosen.lanes), threads, [&](std::size_t begin, std::size_t end) {
      chosen.fit(batch, static_cast<long>(begin), static_cast<long>(end));
    });
  }
  return nb::make_tuple(owned(std::move(numbers), all_numbers, count),
                        owned(std::move(integers), fitted_integers, count));
}

}  // namespace
}  // namespace parkf::full_fit

NB_MODULE(_full_fit, module) {
  using namespace nb::literals;
  module.doc() = "The compiled full fit; parkf.fit.reference is its front.";
  // That module defines the types Field and Detector.
  nb::module_::import_("parkf._transport");
  module.def("fit", &parkf::full_fit::fit,
             "Fit candidates of a kind given as rows of hits; returns numbers (24, n) and integers (4, n).", "field"_a,
             "detector"_a, nb::kw_only(), "ut_plane"_a, "scifi_plane"_a, "velo_sigma"_a, "beam_x"_a, "beam_y"_a,
             "polarity"_a, "qop"_a, "velo_n"_a, "velo"_a, "ut"_a, "scifi"_a, "kind"_a, "errors"_a, "build"_a, "threads"_a);
  module.def("builds", [] { return parkf::names_of(parkf::full_fit::builds()); },
             "Names of the builds that this machine can run, the fastest first.");
}
