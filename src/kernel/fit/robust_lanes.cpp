// The robust fit, which is the plain fit and its treatment, compiled in the same way as fit_lanes.cpp.
//
// One track in three is fitted again, in three stages. The tracks of a stage wait until they fill all lanes. All fits
// of a track are the same up to its last VELO hit, so the later fits begin there.

#include "fit/after_velo.hpp"
#include "fit/gathered.hpp"
#include "fit/kink.hpp"
#include "fit/magnet_lanes.hpp"
#include "fit/robust.hpp"
#include "fit/robust_layout.hpp"
#include "fit/score_rows.hpp"
#include "fit/tiles.hpp"
#include "numbers/build_names.hpp"

namespace parkf::kalman::PARKF_FORMS {
namespace {

/// How many numbers a waiting track has. The first are those of its fit at the last VELO hit. Those of its stage follow, a
/// Treatment and more. If UT hits are doubted: χ² and number of UT hits of the plain fit, and whether to look for a kick in
/// that fit. If a kick is sought: its least k², and whether to look for one without UT hits next. If it is found: its slot.
/// Tracks are turned into lanes in pieces of eight numbers.
constexpr int waiting_numbers = 48, stage_numbers = 7;
static_assert(after_velo_numbers + stage_numbers <= waiting_numbers && waiting_numbers % 8 == 0);

/// Tracks that wait for a stage.
template <class S, int room>
struct Waiting {
  alignas(64) S numbers[room][waiting_numbers];
  long rows[room];
  int count = 0;

  /// Add a track whose numbers are `stride` apart.
  void add(long row, const S* velo, int stride, const S (&stage)[stage_numbers]) {
    S* to = numbers[count];
    for (int q = 0; q < after_velo_numbers; ++q) to[q] = velo[q * stride];
    for (int q = 0; q < stage_numbers; ++q) to[after_velo_numbers + q] = stage[q];
    rows[count++] = row;
  }
  /// Repeat the last track until there are `wanted` tracks. The copies are not counted.
  void repeat_last(int wanted) {
    if (count == 0) return;
    for (int i = count; i < wanted; ++i) copy(count - 1, i);
  }
  void drop(int taken) {
    count -= taken;
    for (int i = 0; i < count; ++i) copy(i + taken, i);
  }

 private:
  void copy(int from, int to) {
    __builtin_memcpy(numbers[to], numbers[from], sizeof(numbers[0]));
    rows[to] = rows[from];
  }
};

template <class S>
class RobustFits {
  using T = Together<S>;
  static constexpr int n = Number<T>::lanes, room = 5 * n;
  using List = Waiting<S, room>;

 public:
  explicit RobustFits(const Batch<S>& batch)
      : batch_(batch), integers_(batch.integers), before_(batch.numbers + fitted_numbers * batch.stride),
        ndof_before_(batch.integers + fitted_integers * batch.stride), done_(ndof_before_ + batch.stride),
        slot_(done_ + batch.stride) {}

  /// Run all stages; if the batch is scored, with the ghost scores of the plain fit.
  void run(long begin, long end) {
    const bool large = outgrows_cache(batch_.tracks);
    Ahead ahead;
    for (long i = begin; i < end; i += n) {
      const Candidates<S> tracks = tracks_from<T>(batch_.tracks, i, large, tile_, ahead);
      const T pol = load<T>(tracks.polarity);
      Filter<T> fit;
      ScoredMemory<T> memory;
      MagnetCoefficients<T> m;
      T z_first;
      forward_velo(tracks, 0, batch_.detector, pol, fit, memory.first, z_first, memory);
      keep_after_velo(fit, memory.first, z_first, columns_);
      const Fitted<T> track = fit_behind_velo(tracks, 0, batch_.detector, pol, z_first, fit, memory, m);
      if (batch_.scored) {
        T features[score::features];
        score_features(memory, fit, track, features);
        store_scores(batch_, i, large, features);
      }
      // Write through the caches, because one track in three is written again.
      store(track, batch_.stride, i, batch_.numbers, integers_);
      choose(robust::view(track), i, end - i < n ? static_cast<int>(end - i) : n);
    }
    try_without_ut(doubted_.count);
    while (suspects_.count > 0) look_for_kicks(suspects_.count);
    enlarge_noise(kicked_.count);
    finish_streams();
  }

 private:
  /// Keep the χ² and ndof of the plain fit of the tracks from `first` on, and note which of them may be treated.
  /// This is a separate function, because inside the loop over tracks it makes the compiled fit a tenth slower.
  __attribute__((noinline)) void choose(const robust::Fit<T>& fit, long first, int count) {
    store(fit.chi2_velo, before_ + first);
    store(fit.chi2_ut, before_ + first + batch_.stride);
    store(fit.chi2_scifi, before_ + first + 2 * batch_.stride);
    store_integer<T>(fit.ndof_ut, ndof_before_ + first);
    store_integer<T>(Integer<T>(0), done_ + first);
    store_integer<T>(Integer<T>(-1), slot_ + first);
    const Mask<T> doubted = fit.doubts_ut(), suspect = fit.may_be_kicked();
    if (!any(doubted | suspect)) return;
    S chi2[n], hits[n], suspected[n];
    int which[n], doubts[n], suspects[n], doubt_count = 0, suspect_count = 0;
    store(fit.chi2(), chi2);
    store(Number<T>::of(fit.ndof_ut), hits);
    store(select(suspect, T(1), T(0)), suspected);
    store_integer<T>(select(doubted, Integer<T>(2), select(suspect, Integer<T>(1), Integer<T>(0))), which);
    constexpr S least = static_cast<S>(robust::hard_kick);
    // No branches, because no processor could predict them.
    for (int lane = 0; lane < count; ++lane) {
      doubts[doubt_count] = suspects[suspect_count] = lane;
      doubt_count += which[lane] == 2;
      suspect_count += which[lane] == 1;
    }
    for (int i = 0; i < doubt_count; ++i) {
      const int lane = doubts[i];
      doubted_.add(first + lane, columns_ + lane, n,
                   {S(1), S(-1), S(1), S(1), chi2[lane], hits[lane], suspected[lane]});
    }
    for (int i = 0; i < suspect_count; ++i) {
      suspects_.add(first + suspects[i], columns_ + suspects[i], n, {S(0), S(-1), S(1), S(1), least});
    }
    if (doubted_.count >= n) try_without_ut(doubted_.count / n * n);
    while (suspects_.count >= n) look_for_kicks(suspects_.count / n * n);
    if (kicked_.count >= n) enlarge_noise(kicked_.count / n * n);
  }

  /// Gather the hits of waiting tracks from number `first` on, and turn their numbers into lanes.
  Candidates<S> gather(const List& waiting, int first) {
    for (int lane = 0; lane < n; ++lane) {
      tile_.polarity[lane] = batch_.tracks.polarity[waiting.rows[first + lane]];
      gathered_.take_strips(batch_.tracks, waiting.rows[first + lane], lane);
    }
    fill_strips(gathered_.strips(), 0, tile_);
    turn<T, waiting_numbers>(waiting.numbers[first], after_velo_numbers + stage_numbers, columns_);
    return tile_.candidates();
  }
  T stage_number(int q) const { return load<T>(columns_ + (after_velo_numbers + q) * n); }

  /// Fit the first `count` waiting tracks again, each with its treatment.
  __attribute__((noinline)) void fit_again(List& waiting, int count) {
    waiting.repeat_last(count + n - 1);
    S* numbers = numbers_;
    int* counts = counts_;
    for (int first = 0; first < count; first += n, numbers += fitted_numbers * n, counts += fitted_integers * n) {
      const Candidates<S> tracks = gather(waiting, first);
      const Treatment<T> treatment{stage_number(0) > T(0), to_integer(stage_number(1)), stage_number(2),
                                   stage_number(3)};
      store(fit_treated<T>(tracks, 0, batch_.detector, treatment, columns_), n, 0, numbers, counts);
    }
  }
  robust::Fit<S> fit_again(int i) const {
    const S* number = numbers_ + i / n * fitted_numbers * n + i % n + (fitted_numbers - 3) * n;
    const int* integer = counts_ + i / n * fitted_integers * n + i % n;
    return {number[0], number[n], number[2 * n], integer[0], integer[n], integer[2 * n], integer[3 * n]};
  }
  void replace(long row, int i, int what, int slot = -1) {
    const int block = i / n, lane = i % n;
    for (int q = 0; q < fitted_numbers; ++q) {
      batch_.numbers[q * batch_.stride + row] = numbers_[(block * fitted_numbers + q) * n + lane];
    }
    int& its_status = integers_[status_row * batch_.stride + row];
    const int far = its_status & status::far_hit;
    for (int q = 0; q < fitted_integers; ++q) {
      integers_[q * batch_.stride + row] = counts_[(block * fitted_integers + q) * n + lane];
    }
    its_status = (its_status & ~status::far_hit) | far;
    done_[row] = what;
    slot_[row] = slot;
  }

  // Each stage treats `count` of its waiting tracks. They fill whole lanes, except at the end of the batch.

  void try_without_ut(int count) {
    fit_again(doubted_, count);
    for (int i = 0; i < count; ++i) {
      const S* numbers = doubted_.numbers[i];
      const S* stage = numbers + after_velo_numbers;
      const robust::Fit<S> fit = fit_again(i);
      const bool better = fit.improves(stage[4], stage[5]);
      const bool next = better && fit.may_be_kicked();
      if (better) replace(doubted_.rows[i], i, treated::ut_taken_out);
      S least(robust::hard_kick);
      if (better) least = larger(least, S(stage[4] - fit.chi2() - stage[5] + robust::hard_kick - robust::ut_fall));
      if (stage[6] > 0) {
        suspects_.add(doubted_.rows[i], numbers, 1, {S(0), S(-1), S(1), S(1), least, S(next)});
      } else if (next) {
        suspects_.add(doubted_.rows[i], numbers, 1, {S(1), S(-1), S(1), S(1), least});
      }
    }
    doubted_.drop(count);
  }

  void look_for_kicks(int count) {
    suspects_.repeat_last(count + n - 1);
    for (int first = 0; first < count; first += n) {
      const Candidates<S> tracks = gather(suspects_, first);
      const Kink<T> kink = find_kink<T>(tracks, 0, batch_.detector, stage_number(0) > T(0), columns_);
      S kicks[6][n];
      int slots[n];
      int row = 0;
      for (const Kick<T>* kick : {&kink.magnet, &kink.other}) {
        for (const T* number : {&kick->k2, &kick->larger, &kick->usual}) store(*number, kicks[row++]);
      }
      store_integer<T>(kink.slot, slots);
      for (int lane = 0; lane < n && first + lane < count; ++lane) {
        const S* numbers = suspects_.numbers[first + lane];
        Kink<S> one;
        row = 0;
        for (Kick<S>* kick : {&one.magnet, &one.other}) {
          for (S* number : {&kick->k2, &kick->larger, &kick->usual}) *number = kicks[row++][lane];
        }
        one.slot = slots[lane];
        const S* stage = numbers + after_velo_numbers;
        Treatment<S> treatment{stage[0] > 0, -1, S(1), S(1)};
        const int scattered = enlarge(one, stage[4], treatment);
        const long row_of_track = suspects_.rows[first + lane];
        if (scattered >= 0) {
          kicked_.add(row_of_track, numbers, 1,
                      {stage[0], S(treatment.slot), treatment.larger, treatment.magnet, S(scattered)});
        } else if (stage[5] > 0) {
          suspects_.add(row_of_track, numbers, 1, {S(1), S(-1), S(1), S(1), S(robust::hard_kick)});
        }
      }
    }
    suspects_.drop(count);
  }

  void enlarge_noise(int count) {
    fit_again(kicked_, count);
    for (int i = 0; i < count; ++i) {
      const S* stage = kicked_.numbers[i] + after_velo_numbers;
      if (!fit_again(i).known()) continue;
      replace(kicked_.rows[i], i, treated::noise_enlarged | (stage[0] > 0 ? treated::ut_taken_out : 0),
              static_cast<int>(stage[4]));
    }
    kicked_.drop(count);
  }

  const Batch<S>& batch_;
  int* integers_;
  S* before_;
  int *ndof_before_, *done_, *slot_;
  // A stage runs when its tracks fill the lanes. The lists also have room for tracks from the stages before, and for
  // copies of the last track.
  List doubted_, suspects_, kicked_;
  GatheredStrips<S, n> gathered_;
  Tile<T> tile_;
  alignas(64) S columns_[waiting_numbers * n];
  alignas(64) S numbers_[fitted_numbers * room];
  alignas(64) int counts_[fitted_integers * room];
};

}  // namespace

template <class S>
void PARKF_NAME(robust_, PARKF_BUILD)(const Batch<S>& batch, long begin, long end) {
  RobustFits<S>(batch).run(begin, end);
}
template void PARKF_NAME(robust_, PARKF_BUILD)(const Batch<float>&, long, long);
template void PARKF_NAME(robust_, PARKF_BUILD)(const Batch<double>&, long, long);

}  // namespace parkf::kalman::PARKF_FORMS
