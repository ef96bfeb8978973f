// The Python module parkf._electron: momenta of electrons. parkf.fit.electron checks what it is called with.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "fit/electron.hpp"

namespace nb = nanobind;

namespace parkf::electron {
namespace {

using In = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Out = nb::ndarray<nb::numpy, double>;

/// Tracks as arrays, and an array of rows to write.
struct Tracks {
  Tracks(const In& qop, const In& variance, const In& velo_hits, const In& upstream_qop, const In& upstream_variance)
      : from{qop.data(), variance.data(), velo_hits.data(), upstream_qop.data(), upstream_variance.data()},
        count(qop.shape(0)) {
    for (const In* one : {&variance, &velo_hits, &upstream_qop, &upstream_variance}) {
      if (one->shape(0) != count) throw std::invalid_argument("electron: arrays do not fit together");
    }
  }

  Seen operator[](std::size_t i) const { return {from[0][i], from[1][i], from[2][i], from[3][i], from[4][i]}; }

  template <std::size_t Rows, class Row>
  Out rows(const Row& row) const {
    std::unique_ptr<double[]> made(new double[Rows * count]);
    {
      nb::gil_scoped_release released;
      for (std::size_t i = 0; i < count; ++i) {
        const std::array<double, Rows> one = row(i);
        for (std::size_t k = 0; k < Rows; ++k) made[k * count + i] = one[k];
      }
    }
    double* pointer = made.release();
    nb::capsule owner(pointer, [](void* memory) noexcept { delete[] static_cast<double*>(memory); });
    return Out(pointer, {Rows, count}, owner);
  }

  std::array<const double*, 5> from;
  std::size_t count;
};

const double* checked(const In& given) {
  if (given.shape(0) != std::size_t(numbers)) throw std::invalid_argument("electron: another number of numbers");
  return given.data();
}

}  // namespace
}  // namespace parkf::electron

NB_MODULE(_electron, module) {
  using namespace nb::literals;
  using namespace parkf::electron;
  module.doc() = "Compiled momenta of electrons; parkf.fit.electron is its front.";
  module.def(
      "estimate",
      [](In given, In qop, In variance, In hits, In up, In up_variance) {
        const Tracks tracks(qop, variance, hits, up, up_variance);
        const double* n = checked(given);
        return tracks.rows<estimate_rows>([&](std::size_t i) {
          const Estimate e = estimate(n, tracks[i]);
          return std::array<double, estimate_rows>{e.qop,      e.variance,      e.hard,     e.soft_qop,
                                                   e.soft_variance, e.hard_qop, e.hard_variance, e.mean_qop,
                                                   e.mean_variance, e.low_qop,  e.high_qop};
        });
      },
      "Return the members of Estimate, (11, n).", "numbers"_a, "qop"_a, "variance"_a, "velo_hits"_a, "upstream_qop"_a,
      "upstream_variance"_a);
  module.def(
      "density",
      [](In given, In qop, In variance, In hits, In up, In up_variance, In lost) {
        const Tracks tracks(qop, variance, hits, up, up_variance);
        if (lost.shape(0) != tracks.count) throw std::invalid_argument("electron: arrays do not fit together");
        const double* n = checked(given);
        return tracks.rows<2>([&](std::size_t i) {
          const Loss loss(n, tracks[i]);
          const Value value = loss.at(lost.data()[i] + n[10]);
          const double nan = std::numeric_limits<double>::quiet_NaN();
          return loss.ok() ? std::array<double, 2>{value.density, value.below} : std::array<double, 2>{nan, nan};
        });
      },
      "Return the density of the loss ln(p / p of the fit) and its integral up to `lost`, (2, n).", "numbers"_a, "qop"_a,
      "variance"_a, "velo_hits"_a, "upstream_qop"_a, "upstream_variance"_a, "lost"_a);
  std::vector<std::tuple<std::string, std::string, std::string>> named;
  for (const Name& one : names) named.emplace_back(one.set, one.name, one.text);
  module.attr("names") = nb::cast(named);
}
