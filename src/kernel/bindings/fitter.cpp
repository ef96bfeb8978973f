// The Python module parkf._fitter: fits of batches, the magnet table, and single steps for checks.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "all_forms.hpp"
#include "bindings/given_slices.hpp"
#include "bindings/kind_named.hpp"
#include "bindings/result_memory.hpp"
#include "fit/residuals_layout.hpp"
#include "fit/robust_layout.hpp"
#include "fit/score_layout.hpp"
#include "numbers/instruction_sets.hpp"
#include "threads/parallel.hpp"

namespace nb = nanobind;

namespace parkf::kalman {

namespace {

// Magnet table and bins are the same in all forms.
constexpr std::size_t table_numbers = 60 * 50 * 80, header_numbers = 19;
constexpr std::size_t shortest_block = 8 * stride_unit;  // tracks, of a thread: 12 microseconds
constexpr std::size_t piece = 1 << 13;  // tracks of a thread between two looks for an interrupt: 0.6 ms of a plain fit
constexpr std::size_t crowded_stride = 1024, spread_rows = 3 * stride_unit;  // tracks

template <class S, std::size_t N>
using In = nb::ndarray<const S, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
template <class S>
using Out = nb::ndarray<nb::numpy, S>;

void expect(bool ok, const std::string& what) {
  if (!ok) throw std::invalid_argument(what);
}

const Forms& forms_named(const std::string& name) {
  for (const Forms* forms : all_forms) {
    if (name == forms->name) return *forms;
  }
  std::string known;
  for (const Forms* forms : all_forms) known += (known.empty() ? "" : ", ") + std::string(forms->name);
  throw std::invalid_argument("forms '" + name + "' are unknown, expected one of " + known);
}

void check_header(const Forms& forms, const float* header) {
  expect(forms.knows_header(header),
         std::string("block UTT_META: bins, grid and degrees are not those of forms ") + forms.name);
}

/// The forms that a table was trained for.
const Forms& forms_of(const float* header) {
  for (const Forms* forms : all_forms) {
    if (forms->knows_header(header)) return *forms;
  }
  throw std::invalid_argument("block UTT_META: bins, grid and degrees are of no known forms");
}

struct GiveBack {
  void operator()(void* memory) const { ResultMemory::give_back(memory); }
};
/// Uninitialised numbers that Python owns.
template <class S>
using Results = std::unique_ptr<S[], GiveBack>;

template <class S>
Results<S> results(std::size_t count) {
  return Results<S>(static_cast<S*>(ResultMemory::take(count * sizeof(S))));
}

template <class S>
Out<S> owned(Results<S> values, std::initializer_list<std::size_t> shape, std::initializer_list<int64_t> strides = {}) {
  S* kept = values.release();
  nb::capsule owner(kept, [](void* p) noexcept { ResultMemory::give_back(p); });
  return Out<S>(kept, shape, owner, strides);
}

template <class S>
Out<S> owned(const std::vector<S>& values, std::initializer_list<std::size_t> shape) {
  Results<S> kept = results<S>(values.size());
  std::copy(values.begin(), values.end(), kept.get());
  return owned(std::move(kept), shape);
}

/// A kind of tracks, with the steps inside the magnet and the loss before its first layer; of long ones by default.
struct OfKind {
  int number = -1;
  slices::Slices slices = {};
  double loss = 0;
};

/// Rows of hits: quantities of (n, slots) each.
template <class S>
using Hits = std::vector<In<S, 2>>;

template <class S, std::size_t quantities>
void take(const Hits<S>& hits, std::size_t count, std::size_t slots, const S* (&rows)[quantities]) {
  bool fits = hits.size() == quantities;
  for (std::size_t q = 0; fits && q < quantities; ++q) {
    fits = hits[q].shape(0) == count && hits[q].shape(1) == slots;
    rows[q] = hits[q].data();
  }
  expect(fits, "candidates: expected " + std::to_string(quantities) + " arrays of hits (" + std::to_string(count) +
                   ", " + std::to_string(slots) + ")");
}

/// `detector` has the resolution of a VELO hit and the beam's x and y, mm, and velo_loss and foil of Detector.
/// Fit a batch; (number_rows + more_rows, n) and (integer_rows, n). The last more_rows are of the ghost score. `rich` are
/// the constants of the steps to the RICH planes, where they are wanted. With `trace`, fit in the trigger's arithmetic, and
/// write states there.
template <class S>
nb::tuple run(In<float, 1> constant, In<float, 1> table, In<double, 1> detector,
              In<S, 1> polarity, In<S, 1> qop, In<int, 1> velo_n, const Hits<S>& velo, const Hits<S>& ut,
              const Hits<S>& scifi, const std::string& forms_name, const std::string& build, int threads,
              bool smoother, FitRange<S> Fits<S>::*range, const S* rich, const float* score, std::size_t number_rows,
              std::size_t more_rows, std::size_t integer_rows, S* trace = nullptr,
              bool covariances = false, const OfKind& of = {}) {
  const Forms& forms = forms_named(forms_name);
  const std::size_t count = qop.shape(0), constant_count = forms.constant_count;
  expect(smoother || forms.has_trigger,
         std::string("scheme 'trigger': it is for production's forms, got ") + forms.name);
  expect(constant.shape(0) == constant_count,
         "constant blob: expected " + std::to_string(constant_count) + " numbers");
  expect(table.shape(0) == table_numbers, "magnet table: expected 240000 numbers");
  check_header(forms, constant.data() + forms.header_offset);
  expect(detector.shape(0) == 5, "detector: expected 5 numbers");
  expect(polarity.shape(0) == count && velo_n.shape(0) == count, "candidates: arrays differ in length");
  const Build& chosen = build_named(runnable(forms.builds), build);

  const std::vector<S> constants(constant.data(), constant.data() + constant_count);
  Batch<S> batch;
  batch.tracks = {static_cast<long>(count), polarity.data(), qop.data(), velo_n.data(), {}, {}, {}};
  take(velo, count, velo_slots, batch.tracks.velo);
  take(ut, count, ut_layers, batch.tracks.ut);
  take(scifi, count, scifi_layers, batch.tracks.scifi);
  const double* d = detector.data();
  batch.detector = {constants.data(), table.data(), static_cast<S>(d[0] * d[0]), static_cast<S>(d[1]),
                    static_cast<S>(d[2]), static_cast<S>(d[3]), static_cast<S>(d[4])};
  batch.smoother = smoother;
  batch.rich = rich;
  batch.covariances = covariances;
  batch.kind = of.number;
  batch.slices = of.slices;
  batch.loss = static_cast<S>(of.loss);
  batch.scored = more_rows > 0;
  batch.score = score;
  batch.score_row = static_cast<int>(number_rows);
  std::size_t stride = (count + stride_unit - 1) / stride_unit * stride_unit;
  // Rows of results at distances of a power of two would compete for the same few lines of the caches. For 8,192 tracks
  // a plain fit would take 4 % longer, a robust one 8 %.
  if (stride % crowded_stride == 0) stride += spread_rows;
  Results<S> numbers = results<S>((number_rows + more_rows) * stride);
  Results<int> integers = results<int>(integer_rows * stride);
  batch.stride = static_cast<long>(stride);
  batch.numbers = numbers.get();
  batch.integers = integers.get();
  if (trace != nullptr) {
    if constexpr (sizeof(S) == 4) forms.trace_trigger_float(batch, trace);
    else forms.trace_trigger_double(batch, trace);
  } else {
    const auto fits = chosen.in<S>().*range;
    const std::size_t together = piece * static_cast<std::size_t>(std::max(threads, 1));
    for (std::size_t from = 0; from < count; from += together) {
      {
        nb::gil_scoped_release released;
        parkf::for_blocks(std::min(together, count - from), shortest_block, threads, [&](std::size_t b, std::size_t e) {
          fits(batch, static_cast<long>(from + b), static_cast<long>(from + e));
        });
      }
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
  }
  const auto step = static_cast<int64_t>(stride);
  return nb::make_tuple(owned(std::move(numbers), {number_rows + more_rows, count}, {step, 1}),
                        owned(std::move(integers), {integer_rows, count}, {step, 1}));
}

template <class S>
nb::tuple fit(In<float, 1> constant, In<float, 1> table, In<double, 1> detector,
              In<S, 1> polarity, In<S, 1> qop, In<int, 1> velo_n, const Hits<S>& velo, const Hits<S>& ut,
              const Hits<S>& scifi, const std::string& forms, const std::string& build, int threads, bool smoother,
              bool robust, const std::optional<In<float, 1>>& score, const std::optional<In<float, 1>>& rich) {
  FitRange<S> Fits<S>::*range;
  const float* weights = nullptr;
  std::size_t more = 0;
  if (score) {
    expect(smoother, "a ghost score comes with the smoother alone");
    if (score->shape(0) > 0) {
      expect(score->shape(0) == score::numbers,
             "ghost score: expected " + std::to_string(score::numbers) + " numbers, or none for its features");
      weights = score->data();
    }
    more = weights == nullptr ? score::features : score::models;
    range = &Fits<S>::scored;
  } else {
    range = &Fits<S>::plain;
  }
  if (robust) {
    expect(smoother, "a robust fit comes with the smoother alone");
    range = &Fits<S>::robust;
  }
  std::vector<S> steps;
  std::size_t numbers = fitted_numbers + (robust ? robust_numbers : 0);
  if (rich) {
    expect(smoother && !robust && !score, "states at the RICH planes come with the plain smoother alone");
    const std::size_t expected = forms_named(forms).rich_constants;
    expect(rich->shape(0) == expected, "RICH constants: expected " + std::to_string(expected) + " numbers");
    steps.assign(rich->data(), rich->data() + expected);
    numbers += forms_named(forms).rich_numbers;
    range = &Fits<S>::rich;
  }
  return run<S>(constant, table, detector, polarity, qop, velo_n, velo, ut, scifi, forms, build,
                threads, smoother, range, steps.data(), weights, numbers, more,
                fitted_integers + (robust ? robust_integers : 0));
}

/// Fit by the smoother, with every hit compared with all others (residuals_layout.hpp).
template <class S>
nb::tuple fit_residuals(In<float, 1> constant, In<float, 1> table, In<double, 1> detector,
                        In<S, 1> polarity, In<S, 1> qop, In<int, 1> velo_n, const Hits<S>& velo, const Hits<S>& ut,
                        const Hits<S>& scifi, const std::string& forms, const std::string& build, int threads,
                        bool covariances) {
  const std::size_t rows = fitted_numbers + residual_numbers + (covariances ? covariance_rows : 0);
  return run<S>(constant, table, detector, polarity, qop, velo_n, velo, ut, scifi, forms, build,
                threads, true, &Fits<S>::residuals, nullptr, nullptr, rows, 0, fitted_integers, nullptr, covariances);
}

/// Fit tracks of a kind. Those without VELO hits have more_covariances further numbers.
template <class S>
nb::tuple fit_kind(In<float, 1> constant, In<float, 1> table, In<double, 1> detector,
                   In<S, 1> polarity, In<S, 1> qop, In<int, 1> velo_n, const Hits<S>& velo, const Hits<S>& ut,
                   const Hits<S>& scifi, const std::string& forms, const std::string& build, int threads,
                   const std::string& name, In<float, 4> numbers, std::array<double, 4> place, In<double, 1> centre,
                   In<double, 2> scatterers, double loss) {
  const Kind& kind = kind_named(name);
  expect(&kind != kinds, "kind '" + name + "': expected one besides long tracks");
  const slices::GivenSlices slices(numbers, place, centre, scatterers);
  return run<S>(constant, table, detector, polarity, qop, velo_n, velo, ut, scifi, forms, build,
                threads, true, &Fits<S>::kind, nullptr, nullptr, fitted_numbers + (kind.velo ? 0 : more_covariances), 0,
                fitted_integers, nullptr, false, {static_cast<int>(&kind - kinds), slices.get(), loss});
}

/// Fit in the trigger's arithmetic, one track after the other, and record each. Return points (n, 22, 21), numbers,
/// integers.
template <class S>
nb::tuple trace_trigger(In<float, 1> constant, In<float, 1> table, In<double, 1> detector,
                        In<S, 1> polarity, In<S, 1> qop, In<int, 1> velo_n, const Hits<S>& velo, const Hits<S>& ut,
                        const Hits<S>& scifi, const std::string& forms, const std::string&, int) {
  constexpr std::size_t points = 22, numbers = 21;
  const std::size_t count = qop.shape(0);
  Results<S> traced = results<S>(count * points * numbers);
  S* to = traced.get();
  const nb::tuple fitted = run<S>(constant, table, detector, polarity, qop, velo_n, velo, ut, scifi,
                                  forms, "", 1, false, nullptr, nullptr, nullptr, fitted_numbers, 0, fitted_integers, to);
  return nb::make_tuple(owned(std::move(traced), {count, points, numbers}), fitted[0], fitted[1]);
}

nb::tuple magnet_extrapolate(In<double, 1> header, In<float, 1> table, In<double, 2> states, In<double, 1> qop,
                             In<double, 1> polarity, int threads) {
  const std::size_t n = states.shape(0);
  expect(header.shape(0) == header_numbers, "magnet header: expected 19 numbers");
  expect(table.shape(0) == table_numbers, "magnet table: expected 240000 numbers");
  expect(states.shape(1) == 4 && qop.shape(0) == n && polarity.shape(0) == n,
         "expected states (n, 4), qop (n) and polarity (n)");
  const std::vector<float> rounded(header.data(), header.data() + header_numbers);
  const Forms& forms = forms_of(rounded.data());
  std::vector<double> carried(4 * n), derivatives(12 * n);
  {
    nb::gil_scoped_release released;
    parkf::for_blocks(n, 4096, threads, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const double* from = states.data() + 4 * i;
        const double pol = polarity.data()[i];
        State<double> s{from[0], from[1], from[2], from[3], qop.data()[i]};
        double* rows = derivatives.data() + 12 * i;
        forms.through_table(table.data(), header.data(), pol, s, rows);
        const double values[4] = {s.x, s.y, s.tx, s.ty};
        for (int c = 0; c < 4; ++c) {
          carried[4 * i + c] = values[c];
          rows[3 * c + 2] *= pol;
        }
      }
    });
  }
  return nb::make_tuple(owned(carried, {n, 4}), owned(derivatives, {n, 4, 3}));
}

nb::tuple step(const std::string& forms, const std::string& name, In<double, 1> p, double polarity, In<double, 1> planes, In<double, 1> state,
               In<double, 1> covariance) {
  expect(state.shape(0) == 5 && covariance.shape(0) == 10 && planes.shape(0) == 4 && p.shape(0) >= 40,
         "expected p (at least 40), planes (4), state (5) and covariance (10)");
  State<double> s{state.data()[0], state.data()[1], state.data()[2], state.data()[3], state.data()[4]};
  Covariance<double> c;
  for (int i = 0; i < 10; ++i) c.elements[i] = covariance.data()[i];
  std::vector<double> jacobian(20);
  Noise<double> q;
  expect(forms_named(forms).run_step(name, p.data(), polarity, planes.data(), s, c, jacobian.data(), q),
         "unknown step '" + name + "'");
  return nb::make_tuple(owned<double>({s.x, s.y, s.tx, s.ty, s.k}, {5}), owned(jacobian, {5, 4}),
                        owned(std::vector<double>(c.elements, c.elements + 10), {10}),
                        owned<double>({q.xx, q.xtx, q.txtx, q.yy, q.yty, q.tyty}, {6}));
}

}  // namespace
}  // namespace parkf::kalman

NB_MODULE(_fitter, module) {
  using namespace nb::literals;
  module.doc() = "The compiled Parameterised Kalman Filter; parkf.fit is its front.";
  const char* fit_text =
      "Fit candidates given as rows of hits, without copying them; returns numbers (16, n) and integers (4, n); with "
      "`robust` also chi2 by detector before, (19, n), and ndof of the UT before, what was done and where, (7, n). "
      "`score`, numbers of the ghost score, adds two rows of scores; none of them, the rows of its features. `rich`, "
      "constants of the steps to the RICH planes, adds x, y, tx, ty and the lower triangle of their covariance at each. "
      "The arrays' type, float32 or float64, is the precision of the fit.";
  const auto define = [&module](const char* name, auto* function, const char* text, auto... last) {
    module.def(name, function, text, "constant"_a, "table"_a, "detector"_a, "polarity"_a,
               "qop"_a, "velo_n"_a, "velo"_a, "ut"_a, "scifi"_a, "forms"_a, "build"_a, "threads"_a, last...);
  };
  define("fit", &parkf::kalman::fit<float>, fit_text, "smoother"_a, "robust"_a = false, "score"_a = nb::none(),
         "rich"_a = nb::none());
  define("fit", &parkf::kalman::fit<double>, fit_text, "smoother"_a, "robust"_a = false, "score"_a = nb::none(),
         "rich"_a = nb::none());
  const char* residuals_text =
      "Fit by the smoother, with every hit compared with all others. Returns numbers (16 + 456, n) and integers (4, n). Of "
      "68 coordinates (x and y of VELO slots, UT and SciFi layers): w, d, and the decrease of w for 1/MeV; of 42 slots: the "
      "smoothed x, y, tx, ty; of the step to each: what is seen of its noise, and what is expected. With `covariances`, "
      "also the noise of the step to each slot, 252 rows, and the lower triangle of the covariance of w at given q/p, 2278.";
  define("fit_residuals", &parkf::kalman::fit_residuals<float>, residuals_text, "covariances"_a);
  define("fit_residuals", &parkf::kalman::fit_residuals<double>, residuals_text, "covariances"_a);
  const char* kind_text =
      "Fit tracks of a kind besides long ones; returns numbers and integers (4, n). Tracks with VELO hits have the numbers of "
      "long ones, (16, n). The others are at their first layer, and have xy, ytx, xty, txty and the covariances of q/p with "
      "x, y, tx, ty behind, (24, n).";
  define("fit_kind", &parkf::kalman::fit_kind<float>, kind_text, "kind"_a, "numbers"_a, "place"_a, "centre"_a,
         "scatterers"_a, "loss"_a);
  define("fit_kind", &parkf::kalman::fit_kind<double>, kind_text, "kind"_a, "numbers"_a, "place"_a, "centre"_a,
         "scatterers"_a, "loss"_a);
  const char* trace_text =
      "Fit the same in the trigger's arithmetic, and return state, lower triangle of the covariance and z at its points, "
      "(n, 22, 21), besides numbers (16, n) and integers (4, n).";
  define("trace_trigger", &parkf::kalman::trace_trigger<float>, trace_text);
  define("trace_trigger", &parkf::kalman::trace_trigger<double>, trace_text);
  module.def("magnet_extrapolate", &parkf::kalman::magnet_extrapolate,
             "Carry states (n, 4) at z_in with local q/p (1/MeV) to z_out by the table alone; returns states and "
             "(n, 4) and their derivatives with respect to tx, ty and q/p, (n, 4, 3).",
             "header"_a, "table"_a, "states"_a, "qop"_a, "polarity"_a, "threads"_a = 1);
  module.def("step", &parkf::kalman::step,
             "Run one generated step: state (5), Jacobian by columns (5, 4), covariance (10) without noise, noise (6).",
             "forms"_a, "name"_a, "p"_a, "polarity"_a, "planes"_a, "state"_a, "covariance"_a);
  module.def("builds", [] { return parkf::names_of(parkf::runnable(parkf::kalman::all_forms[0]->builds)); },
             "Names of the builds that this machine can run, the fastest first.");
  nb::dict score;
  score["version"] = parkf::kalman::score::version;
  score["features"] = parkf::kalman::score::features;
  score["own"] = parkf::kalman::score::own;
  score["hidden"] = parkf::kalman::score::hidden;
  score["numbers"] = parkf::kalman::score::numbers;
  module.attr("score") = score;
  nb::list bits;
  for (const parkf::kalman::status::Bit& one : parkf::kalman::status::bits) {
    bits.append(nb::make_tuple(one.bit, one.name, one.meaning));
  }
  module.attr("status") = bits;
  module.attr("warnings") = parkf::kalman::status::warnings;
  nb::dict formulas;
  for (const parkf::kalman::Forms* forms : parkf::kalman::all_forms) formulas[forms->name] = forms->formulas_hash;
  module.attr("formulas") = formulas;
}
