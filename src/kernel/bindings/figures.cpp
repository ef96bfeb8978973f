// Python module parkf._figures: fits of distributions; parkf.proof.validation.core is its front.

#include "figures/core.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace nb = nanobind;

using In = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

NB_MODULE(_figures, module) {
  using namespace nb::literals;
  using namespace parkf::figures;
  module.doc() = "Compiled fits of distributions; parkf.proof.validation.core is their front.";
  module.def(
      "fit_core",
      [](In u) {
        const Core core = fit_core(u.data(), u.shape(0));
        return nb::make_tuple(core.mean, core.mean_error, core.width, core.width_error);
      },
      "Fit the core of numbers (n,) that ascend, of median 0 and width 1; return mean, its error, width, its error.",
      "u"_a);
  module.def(
      "moments",
      [](double mean, double width) {
        const auto found = moments(mean, width);
        return nb::make_tuple(found[0], found[1], found[2], found[3]);
      },
      "Return the means of u, u², u³, u⁴ of a Gaussian seen in (-2, 2).", "mean"_a, "width"_a);
}
