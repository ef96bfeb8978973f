// The smoother's fit without outliers, compiled in the same way as fit_lanes.cpp.
//
// Each fit finds the hit that agrees least with all others. A track whose hit is an outlier loses this hit, and waits to
// be fitted again. Tracks that wait are fitted when they fill all lanes.

#include "fit/gathered.hpp"
#include "fit/interval.hpp"
#include "fit/magnet_lanes.hpp"
#include "fit/outlier.hpp"
#include "fit/tiles.hpp"
#include "numbers/build_names.hpp"

namespace parkf::kalman::PARKF_FORMS {
namespace {

constexpr int most_removed = 3;  // hits of a track

template <class S>
class CleanFits {
  using T = Together<S>;
  static constexpr int n = Number<T>::lanes;

 public:
  explicit CleanFits(const Batch<S>& batch)
      : batch_(batch), worst_(batch.numbers + fitted_numbers * batch.stride),
        slot_(batch.integers + fitted_integers * batch.stride), lost_velo_(slot_ + batch.stride),
        lost_strips_(lost_velo_ + batch.stride) {}

  void run(long begin, long end) {
    const bool large = outgrows_cache(batch_.tracks);
    Ahead ahead;
    for (long i = begin; i < end; i += n) {
      fit(tracks_from<T>(batch_.tracks, i, large, tile_, ahead));
      // Through the caches: one track in five is written again.
      store(now_.track, batch_.stride, i, batch_.numbers, batch_.integers);
      store(now_.worst, worst_ + i);
      store_integer<T>(now_.worst_slot, slot_ + i);
      store_integer<T>(Integer<T>(0), lost_velo_ + i);
      store_integer<T>(Integer<T>(0), lost_strips_ + i);
      const Mask<T> found = may_have_outlier() & has_outlier();
      if (!any(found)) continue;
      int lose[n], slots[n];
      store_integer<T>(count<T>(found), lose);
      store_integer<T>(now_.worst_slot, slots);
      for (int lane = 0; lane < n && i + lane < end; ++lane) {
        if (lose[lane]) wait({i + lane, 0, 0}, slots[lane]);
      }
      while (waiting_count_ >= n) fit_again(n);
    }
    while (waiting_count_ > 0) fit_again(waiting_count_ < n ? waiting_count_ : n);
    finish_streams();
  }

 private:
  /// A function of its own, so that the first fit of a track and later ones are the same code, with the same rounding.
  __attribute__((noinline)) void fit(const Candidates<S>& tracks) { now_ = fit_interval<T>(tracks, 0, batch_.detector); }

  /// Whether χ² is large enough: with a hit above the limit, it would leave less than ½ndof for all other hits otherwise.
  Mask<T> may_have_outlier() const {
    const Fitted<T>& track = now_.track;
    const Integer<T> ndof = track.ndof_velo + track.ndof_ut + track.ndof_scifi;
    const T enough = T(batch_.limit) + T(S(0.5)) * Number<T>::of(ndof);
    return (track.chi2_velo + track.chi2_ut + track.chi2_scifi > enough) &
           ((track.status & Integer<T>(status::non_finite)) == Integer<T>(0));
  }
  Mask<T> has_outlier() const {
    const Mask<T> spare = (Integer<T>(velo_slots - 1) < now_.worst_slot) |
                          (Integer<T>(fewest_hits[0]) < load_integer<T>(tile_.velo_n));
    return (now_.worst > T(batch_.limit)) & spare;
  }
  void wait(LostHits track, int slot) {
    track.add(slot);
    waiting_[waiting_count_++] = track;
  }

  /// The last ones of those that wait.
  __attribute__((noinline)) void fit_again(int count) {
    LostHits tracks[n];
    waiting_count_ -= count;
    for (int lane = 0; lane < n; ++lane) {
      tracks[lane] = waiting_[waiting_count_ + (lane < count ? lane : count - 1)];
      gathered_.take(batch_.tracks, tracks[lane], lane);
    }
    fill(gathered_.rows(), 0, tile_);
    fit(tile_.candidates());
    alignas(64) S numbers[(fitted_numbers + 1) * n];
    alignas(64) int integers[(fitted_integers + 1) * n];
    int lose[n];
    store(now_.track, n, 0, numbers, integers);
    store(now_.worst, numbers + fitted_numbers * n);
    store_integer<T>(now_.worst_slot, integers + fitted_integers * n);
    store_integer<T>(parkf::kalman::count<T>(has_outlier()), lose);
    for (int lane = 0; lane < count; ++lane) {
      const LostHits& track = tracks[lane];
      for (int q = 0; q <= fitted_numbers; ++q) batch_.numbers[q * batch_.stride + track.row] = numbers[q * n + lane];
      for (int q = 0; q <= fitted_integers; ++q) batch_.integers[q * batch_.stride + track.row] = integers[q * n + lane];
      lost_velo_[track.row] = track.velo;
      lost_strips_[track.row] = track.strips;
      if (lose[lane] && track.count() < most_removed) wait(track, integers[fitted_integers * n + lane]);
    }
  }

  const Batch<S>& batch_;
  S* worst_;
  int *slot_, *lost_velo_, *lost_strips_;
  Interval<T> now_;
  Tile<T> tile_;
  Gathered<S, n> gathered_;
  // Fewer than lanes are left over when a tile of first fits adds at most as many.
  LostHits waiting_[2 * n];
  int waiting_count_ = 0;
};

}  // namespace

template <class S>
void PARKF_NAME(clean_, PARKF_BUILD)(const Batch<S>& batch, long begin, long end) {
  CleanFits<S>(batch).run(begin, end);
}
template void PARKF_NAME(clean_, PARKF_BUILD)(const Batch<float>&, long, long);
template void PARKF_NAME(clean_, PARKF_BUILD)(const Batch<double>&, long, long);

}  // namespace parkf::kalman::PARKF_FORMS
