// Compiled once for every set of forms and instruction set: the generated headers name the former, PARKF_BUILD the
// latter, and PARKF_LANE_BYTES is its vector width (0: one track at a time). Nothing with external linkage but the
// Build may come out of this file.

#include <cstring>

#include "fit_batch.hpp"
#include "forward_backward.hpp"
#include "magnet_lanes.hpp"
#include "smoother.hpp"

namespace parkf::kalman::PARKF_FORMS {
namespace {

#if PARKF_LANE_BYTES == 0
template <class S>
using Together = S;
#else
template <class S>
using Together = Lanes<S, PARKF_LANE_BYTES / sizeof(S)>;
#endif

template <class S>
void fit_range(const Batch<S>& batch, long begin, long end) {
  using T = Together<S>;
  constexpr int n = Number<T>::lanes;
  const long count = batch.tracks.count;
  Tile<T> tile;
  for (long i = begin; i < end; i += n) {
    fill(batch.tracks, i, tile);
    const Candidates<S> tracks = tile.candidates();
    const Fitted<T> track = batch.smoother ? fit_smoother<T>(tracks, 0, batch.detector)
                                           : fit_forward_backward<T>(tracks, 0, batch.detector);
    if (i + n <= count) {  // else the last tracks of the batch
      store(track, count, i, batch.numbers, batch.integers);
    } else {
      S numbers[fitted_numbers * n];
      int integers[fitted_integers * n];
      store(track, n, 0, numbers, integers);
      const std::size_t rest = static_cast<std::size_t>(count - i);
      for (int q = 0; q < fitted_numbers; ++q) {
        std::memcpy(batch.numbers + q * count + i, numbers + q * n, rest * sizeof(S));
      }
      for (int q = 0; q < fitted_integers; ++q) {
        std::memcpy(batch.integers + q * count + i, integers + q * n, rest * sizeof(int));
      }
    }
  }
}

}  // namespace

#define PARKF_JOIN(a, b) a##b
#define PARKF_NAME(build) PARKF_JOIN(build_, build)
#define PARKF_TEXT(a) #a
#define PARKF_QUOTE(a) PARKF_TEXT(a)

extern const Build PARKF_NAME(PARKF_BUILD);
const Build PARKF_NAME(PARKF_BUILD){PARKF_QUOTE(PARKF_BUILD), fit_range<float>, fit_range<double>};

}  // namespace parkf::kalman::PARKF_FORMS
