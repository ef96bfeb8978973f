// The Python module parkf._slices: states inside the magnet. parkf.fit.inside checks what it is called with.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <builds.hpp>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "bindings/given_slices.hpp"
#include "fit/slices_batch.hpp"
#include "numbers/build_names.hpp"
#include "numbers/instruction_sets.hpp"
#include "threads/parallel.hpp"

namespace nb = nanobind;

namespace parkf::slices {

PARKF_DECLARE_BUILDS

namespace {

constexpr std::size_t block = 1024;  // tracks, of a thread

template <class S, std::size_t N>
using In = nb::ndarray<const S, nb::ndim<N>, nb::c_contig, nb::device::cpu>;

template <class T>
nb::ndarray<nb::numpy, T> owned(std::unique_ptr<T[]> data, std::initializer_list<std::size_t> shape) {
  T* pointer = data.release();
  return nb::ndarray<nb::numpy, T>(pointer, shape, nb::capsule(pointer, [](void* memory) noexcept {
                                     delete[] static_cast<T*>(memory);
                                   }));
}

std::vector<const Build*> builds() {
  return runnable(std::vector<const Build*>PARKF_ALL_BUILDS);
}

template <class S>
nb::tuple run(In<float, 4> numbers, std::array<double, 4> place, In<double, 1> centre,
              In<double, 2> scatterers, In<S, 2> states, In<S, 2> covariances, In<S, 1> z_from, In<S, 1> z_to,
              In<S, 1> polarity, int threads, const std::string& build) {
  const GivenSlices slices(numbers, place, centre, scatterers);
  const std::size_t count = states.shape(0);
  if (states.shape(1) != 5 || covariances.shape(0) != count || covariances.shape(1) != covariance_numbers ||
      z_from.shape(0) != count || z_to.shape(0) != count || polarity.shape(0) != count) {
    throw std::invalid_argument("slices: arrays do not fit together");
  }
  const Build& chosen = build_named(builds(), build);
  std::unique_ptr<S[]> carried(new S[5 * count]), covariance(new S[covariance_numbers * count]),
      jacobian(new S[20 * count]);
  std::unique_ptr<bool[]> inside(new bool[count]);
  const Batch<S> batch{slices.get(),
                       static_cast<long>(count), states.data(), covariances.data(), z_from.data(), z_to.data(),
                       polarity.data(), carried.get(), covariance.get(), jacobian.get(), inside.get()};
  {
    nb::gil_scoped_release released;
    parkf::for_blocks(count, block, threads, [&](std::size_t begin, std::size_t end) {
      if constexpr (sizeof(S) == 4) chosen.carry_float(batch, static_cast<long>(begin), static_cast<long>(end));
      else chosen.carry_double(batch, static_cast<long>(begin), static_cast<long>(end));
    });
  }
  return nb::make_tuple(owned(std::move(carried), {count, 5}), owned(std::move(covariance), {count, covariance_numbers}),
                        owned(std::move(jacobian), {count, 4, 5}), owned(std::move(inside), {count}));
}

}  // namespace
}  // namespace parkf::slices

NB_MODULE(_slices, module) {
  using namespace nb::literals;
  module.doc() = "Compiled steps inside the magnet; parkf.fit.inside is its front.";
  const char* carry_text =
      "Carry states (n, 5) and the lower triangles of their covariances (n, 15) from z_from to z_to (n); returns both, "
      "Jacobians (n, 4, 5), and whether each track stayed on the grid (n). The arrays' type, float32 or float64, is the "
      "precision.";
  const auto define = [&](auto* function) {
    module.def("carry", function, carry_text, "numbers"_a, "place"_a, "centre"_a, "scatterers"_a, "states"_a,
               "covariances"_a, "z_from"_a, "z_to"_a, "polarity"_a, "threads"_a = 1, "build"_a = "");
  };
  define(&parkf::slices::run<float>);
  define(&parkf::slices::run<double>);
  module.def("builds", [] { return parkf::names_of(parkf::slices::builds()); },
             "Names of the builds that this machine can run, the fastest first.");
  module.attr("row") = parkf::slices::row;
}
