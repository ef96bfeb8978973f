#pragma once
// Fits tracks with the kernel that parkf itself runs. The instruction set that this is compiled for determines how
// many tracks are fitted at once in vector registers, as in parkf's own builds. With the same options, the numbers
// are the same to the last bit.

#include <algorithm>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "parameter_set.hpp"
#include "fit/kind.hpp"
#include "fit/track.hpp"

namespace parkf {

enum class Scheme { smoother, trigger };

/// The kernel's view of arrays with the layout of those in `Tracks`, in any memory.
template <class S>
kalman::Candidates<S> candidates(std::size_t stride, const S* polarity, const S* qop, const int* velo_n,
                                 const S* velo, const S* ut, const S* scifi) {
  const auto v = [&](int quantity) { return velo + quantity * kalman::velo_slots * stride; };
  const auto u = [&](int quantity) { return ut + quantity * kalman::ut_layers * stride; };
  const auto s = [&](int quantity) { return scifi + quantity * kalman::scifi_layers * stride; };
  return {static_cast<long>(stride), polarity, qop, velo_n, v(0), v(1), v(2), u(0), u(1),
          u(2), u(3), s(0), s(1), s(2), s(3)};
}

/// Candidates: in each array, neighbouring numbers are of neighbouring tracks, and slots without a hit hold NaN. S is
/// float or double. Lengths are in mm.
template <class S>
class Tracks {
 public:
  explicit Tracks(std::size_t count)
      : count(count), stride((count + 15) / 16 * 16), polarity(stride, S(1)), qop(stride, S(1)), velo_n(stride, 0),
        velo(hits(3 * kalman::velo_slots)), ut(hits(4 * kalman::ut_layers)), scifi(hits(4 * kalman::scifi_layers)) {}

  std::size_t count, stride;
  std::vector<S> polarity;    // +1 MagUp, -1 MagDown
  std::vector<S> qop;         // estimate of the pattern recognition, 1/MeV
  std::vector<int> velo_n;    // VELO hits, which fill the first slots in ascending z
  std::vector<S> velo;        // (x, y, z; 26 slots; stride)
  std::vector<S> ut, scifi;   // (x at y = 0, z there, dx/dy, σ; 4 or 12 layers; stride)

  kalman::Candidates<S> view() const {
    return candidates<S>(stride, polarity.data(), qop.data(), velo_n.data(), velo.data(), ut.data(), scifi.data());
  }
  void check() const {
    const bool fits = polarity.size() == stride && qop.size() == stride && velo_n.size() == stride &&
                      velo.size() == 3 * kalman::velo_slots * stride && ut.size() == 4 * kalman::ut_layers * stride &&
                      scifi.size() == 4 * kalman::scifi_layers * stride;
    if (!fits) throw Error("tracks: an array has another size than it was made with");
    for (std::size_t i = 0; i < count; ++i) {
      if (polarity[i] != 1 && polarity[i] != -1) {
        throw Error("tracks: polarity of track " + std::to_string(i) + ": expected +1 or -1");
      }
      if (velo_n[i] < 0 || velo_n[i] > kalman::velo_slots) {
        throw Error("tracks: velo_n of track " + std::to_string(i) + ": got " + std::to_string(velo_n[i]) +
                    ", expected 0 to " + std::to_string(kalman::velo_slots));
      }
    }
  }

 private:
  std::vector<S> hits(std::size_t slots) const {
    return std::vector<S>(slots * stride, std::numeric_limits<S>::quiet_NaN());
  }
};

/// Fitted tracks: rows z, x, y, tx, ty, q/p, xx, x·tx, tx·tx, yy, y·ty, ty·ty, (q/p)², χ² of VELO, UT and SciFi;
/// and ndof of VELO, UT and SciFi, status (0, or only bits of status::warnings: good). Tracks without VELO hits have
/// further rows xy, y·tx, x·ty, tx·ty, and those of x, y, tx, ty with q/p.
template <class S>
struct Results {
  std::size_t count, stride;
  std::vector<S> numbers;     // (16 or 24, stride)
  std::vector<int> integers;  // (4, stride)
  std::vector<S> scores;      // (2, stride): log odds that a track is genuine, without and with momentum and direction;
                              // empty without `scored`

  kalman::Fitted<S> operator[](std::size_t i) const {
    const auto n = [&](int row) { return numbers[row * stride + i]; };
    const auto m = [&](int row) { return integers[row * stride + i]; };
    return {n(0), n(1), n(2),  n(3),  n(4),  n(5),  n(6),  n(7), n(8), n(9),
            n(10), n(11), n(12), n(13), n(14), n(15), m(0), m(1), m(2), m(3)};
  }

  bool good(std::size_t i) const {
    return (integers[kalman::status_row * stride + i] & ~kalman::status::warnings) == 0;
  }
};

namespace detail {

template <class S>
struct Job {
  Scheme scheme = Scheme::smoother;
  const float* score = nullptr;        // networks, if scores are required
  const kalman::Kind* kind = nullptr;  // null for long tracks
  S loss = 0;                          // of momentum before the first layer behind the VELO, MeV
  slices::Slices slices{};
  kalman::Candidates<S> tracks{};
  kalman::Detector<S> detector{};
  S *numbers = nullptr, *scores = nullptr;
  int* integers = nullptr;
};

/// Fit tracks begin … end - 1 with a set's forms; begin and end are multiples of 16. The definition is below,
/// with all forms that this header knows.
template <class S>
bool fit_range(const std::string& kernel, const Job<S>& job, long begin, long end);

/// Do a job, whose tracks, detector and results are filled in here, in several threads.
template <class S>
Results<S> run(const ParameterSet& set, const Tracks<S>& tracks, int threads, int rows, Job<S> job) {
  tracks.check();
  if (set.forms == nullptr) throw Error("parameter set: not loaded");
  Results<S> results{tracks.count, tracks.stride, std::vector<S>(rows * tracks.stride),
                     std::vector<int>(kalman::fitted_integers * tracks.stride),
                     std::vector<S>(job.score ? kalman::score::models * tracks.stride : 0)};
  const std::vector<S> constant(set.constant.begin(), set.constant.end());
  job.tracks = tracks.view();
  job.detector = {constant.data(), set.table.data(), static_cast<S>(set.velo_sigma * set.velo_sigma),
                  static_cast<S>(set.beam_x), static_cast<S>(set.beam_y), static_cast<S>(set.velo_loss)};
  job.numbers = results.numbers.data();
  job.integers = results.integers.data();
  job.scores = results.scores.data();
  const long groups = static_cast<long>(tracks.stride / 16), team = std::max(1, threads);
  std::vector<std::thread> others;
  const auto work = [&](long member) {
    fit_range(set.forms->kernel, job, groups * member / team * 16, groups * (member + 1) / team * 16);
  };
  for (long member = 1; member < team; ++member) others.emplace_back(work, member);
  work(0);
  for (std::thread& other : others) other.join();
  return results;
}

}  // namespace detail

/// Fit tracks. The result does not depend on the number of threads. With `scored`, the results have ghost scores;
/// only the smoother has these.
template <class S>
Results<S> fit(const ParameterSet& set, const Tracks<S>& tracks, Scheme scheme = Scheme::smoother, int threads = 1,
               bool scored = false) {
  if (scored && set.score.empty()) throw Error("parameter set: it has no ghost score that this header evaluates");
  if (scheme == Scheme::trigger && set.forms != nullptr && std::string(set.forms->name) != "production") {
    throw Error("scheme 'trigger': it is for sets of production's forms");
  }
  if (scored && scheme != Scheme::smoother) throw Error("ghost scores come with the smoother alone");
  return detail::run<S>(set, tracks, threads, kalman::fitted_numbers, {scheme, scored ? set.score.data() : nullptr});
}

/// Fit tracks of a kind by its name (kalman::kinds). Hits of detectors that the kind does not have are not used. The set
/// must have steps inside the magnet, but for long tracks.
template <class S>
Results<S> fit(const ParameterSet& set, const Tracks<S>& tracks, const std::string& kind, int threads = 1) {
  std::string known;
  for (const kalman::Kind& one : kalman::kinds) {
    known += (known.empty() ? "" : ", ") + std::string(one.name);
    if (kind != one.name) continue;
    if (&one == kalman::kinds) return fit(set, tracks, Scheme::smoother, threads);
    if (set.slices.numbers.empty()) {
      throw Error("parameter set: it has no steps inside the magnet, which kind '" + kind + "' needs");
    }
    const int rows = kalman::fitted_numbers + (one.velo ? 0 : kalman::more_covariances);
    const double loss = one.ut ? set.slices.loss_before_ut : set.slices.loss_before_scifi;
    return detail::run<S>(set, tracks, threads, rows,
                          {Scheme::smoother, nullptr, &one, static_cast<S>(loss), set.slices.view()});
  }
  throw Error("kind '" + kind + "': expected one of " + known);
}

/// Fit long tracks as electrons: q/p and its variance are those where the electrons were produced, before they radiated.
/// Eleven more rows are the columns that `parkf fit --electrons` adds, in their order; tracks without a good fit have NaN
/// in them, but for the fit as a pion. The set must have numbers for electrons and steps inside the magnet.
template <class S>
Results<S> fit_electrons(const ParameterSet& set, const Tracks<S>& tracks, int threads = 1) {
  constexpr int qop = 5, variance = 12;
  if (set.electron.empty()) throw Error("parameter set: it has no numbers for electrons that this header knows");
  const Results<S> upstream = fit(set, tracks, "upstream", threads);
  Results<S> found = fit(set, tracks, Scheme::smoother, threads);
  found.numbers.resize((kalman::fitted_numbers + electron::estimate_rows) * found.stride);
  for (std::size_t i = 0; i < found.count; ++i) {
    const auto row = [&](int number) -> S& { return found.numbers[number * found.stride + i]; };
    const auto seen_upstream = [&](int number) {
      return upstream.good(i) ? double(upstream.numbers[number * upstream.stride + i])
                              : std::numeric_limits<double>::quiet_NaN();
    };
    const electron::Seen seen{double(row(qop)), double(row(variance)), double(tracks.velo_n[i]), seen_upstream(qop),
                              seen_upstream(variance)};
    const electron::Estimate e = found.good(i) ? electron::estimate(set.electron.data(), seen) : electron::unknown(seen);
    int next = kalman::fitted_numbers;
    for (const S value : {row(qop), row(variance)}) row(next++) = value;
    row(qop) = S(e.qop);
    row(variance) = S(e.variance);
    for (const double value : {e.hard, e.soft_qop, e.soft_variance, e.hard_qop, e.hard_variance, e.mean_qop,
                               e.mean_variance, e.low_qop, e.high_qop}) {
      row(next++) = S(value);
    }
  }
  return found;
}

}  // namespace parkf
