// As fit_lanes.cpp, of the robust fit: the plain one of some tracks at a time, and what is done after it.
//
// One track in four is fitted again, in three stages. Those of a stage wait until they fill all lanes.

#include "fit/kink.hpp"
#include "fit/magnet_lanes.hpp"
#include "fit/robust.hpp"
#include "fit/robust_layout.hpp"
#include "fit/tiles.hpp"
#include "numbers/build_names.hpp"

namespace parkf::kalman::PARKF_FORMS {
namespace {

/// Rows of a few tracks from anywhere in a batch, next to each other.
template <class S, int n>
struct alignas(64) Gathered {
  S polarity[n], qop[n], velo[3][n * velo_slots], ut[4][n * ut_layers], scifi[4][n * scifi_layers];
  int velo_n[n];

  CandidateRows<S> take(const CandidateRows<S>& all, const long* rows, int count) {
    CandidateRows<S> here{n, polarity, qop, velo_n, {}, {}, {}};
    for (int q = 0; q < 3; ++q) here.velo[q] = velo[q];
    for (int q = 0; q < 4; ++q) here.ut[q] = ut[q], here.scifi[q] = scifi[q];
    for (int lane = 0; lane < n; ++lane) {
      const long row = rows[lane < count ? lane : count - 1];
      polarity[lane] = all.polarity[row];
      qop[lane] = all.qop[row];
      velo_n[lane] = all.velo_n[row];
      for (int q = 0; q < 3; ++q) copy<velo_slots>(all.velo[q], row, velo[q], lane);
      for (int q = 0; q < 4; ++q) copy<ut_layers>(all.ut[q], row, ut[q], lane);
      for (int q = 0; q < 4; ++q) copy<scifi_layers>(all.scifi[q], row, scifi[q], lane);
    }
    return here;
  }

 private:
  template <int slots>
  static void copy(const S* from, long row, S* to, int lane) {
    __builtin_memcpy(to + lane * slots, from + row * slots, slots * sizeof(S));
  }
};

/// Tracks that wait for a stage. There is room for those that a full set of lanes of the stage before hands on.
template <class S, int n>
struct Waiting {
  long rows[2 * n];
  int slots[2 * n];
  S x[2 * n], y[2 * n];
  int count = 0;

  void add(long row, int slot = -1, S larger_x = 1, S larger_y = 1) {
    rows[count] = row;
    slots[count] = slot;
    x[count] = larger_x;
    y[count++] = larger_y;
  }
  void drop(int taken) {
    count -= taken;
    for (int i = 0; i < count; ++i) {
      rows[i] = rows[i + taken];
      slots[i] = slots[i + taken];
      x[i] = x[i + taken];
      y[i] = y[i + taken];
    }
  }
};

// Tracks that are still in a second-level cache when they are fitted again.
constexpr long robust_piece = 16 * stride_unit;

template <class S>
class RobustFits {
  using T = Together<S>;
  static constexpr int n = Number<T>::lanes;

 public:
  explicit RobustFits(const Batch<S>& batch)
      : batch_(batch), integers_(batch.integers), before_(batch.numbers + fitted_numbers * batch.stride),
        ndof_before_(batch.integers + fitted_integers * batch.stride), done_(ndof_before_ + batch.stride),
        slot_(done_ + batch.stride) {}

  void run(FitRange<S> plain, long begin, long end) {
    for (long i = begin; i < end; i += robust_piece) {
      const long piece_end = i + robust_piece < end ? i + robust_piece : end;
      plain(batch_, i, piece_end);
      for (long first = i; first < piece_end; first += n) {
        choose(first, piece_end - first < n ? static_cast<int>(piece_end - first) : n);
      }
    }
    while (doubted_.count > 0) try_without_ut();
    while (suspects_.count > 0) look_for_kicks();
    while (kicked_.count > 0) enlarge_noise();
  }

 private:
  /// Keep the χ² and ndof of the plain fit of the tracks from `first` on, and note which of them may be treated.
  void choose(long first, int count) {
    const robust::Fit<T> fit = fits_of<T>(batch_.numbers + first, integers_ + first, batch_.stride);
    store(fit.chi2_velo, before_ + first);
    store(fit.chi2_ut, before_ + first + batch_.stride);
    store(fit.chi2_scifi, before_ + first + 2 * batch_.stride);
    store_integer<T>(fit.ndof_ut, ndof_before_ + first);
    store_integer<T>(Integer<T>(0), done_ + first);
    store_integer<T>(Integer<T>(-1), slot_ + first);
    const Mask<T> doubted = fit.doubts_ut(), suspect = fit.may_be_kicked();
    if (!any(doubted | suspect)) return;
    int which[n];
    store_integer<T>(select(doubted, Integer<T>(2), select(suspect, Integer<T>(1), Integer<T>(0))), which);
    for (int lane = 0; lane < count; ++lane) {
      if (which[lane] == 2) {
        doubted_.add(first + lane);
        if (doubted_.count == n) try_without_ut();
      } else if (which[lane] == 1) {
        suspects_.add(first + lane);
        if (suspects_.count == n) look_for_kicks();
      }
    }
  }

  /// From rows `stride` apart.
  template <class U>
  static robust::Fit<U> fits_of(const S* numbers, const int* integers, long stride) {
    const auto number = [&](int row) { return load<U>(numbers + row * stride); };
    const auto integer = [&](int row) { return load_integer<U>(integers + row * stride); };
    return {number(fitted_numbers - 3), number(fitted_numbers - 2), number(fitted_numbers - 1),
            integer(0), integer(1), integer(2), integer(3)};
  }
  robust::Fit<S> fit_of(long i) const { return fits_of<S>(batch_.numbers + i, integers_ + i, batch_.stride); }

  int gather(const Waiting<S, n>& waiting) {
    const int taken = waiting.count < n ? waiting.count : n;
    fill(gathered_.take(batch_.tracks, waiting.rows, taken), 0, tile_);
    return taken;
  }

  void fit_again(const Treatment<T>& treatment) {
    store(fit_treated<T>(tile_.candidates(), 0, batch_.detector, treatment), n, 0, numbers_, counts_);
  }
  robust::Fit<S> fit_of_lane(int lane) const { return fits_of<S>(numbers_ + lane, counts_ + lane, n); }
  void keep(int lane, long row, int what) {
    for (int q = 0; q < fitted_numbers; ++q) batch_.numbers[q * batch_.stride + row] = numbers_[q * n + lane];
    for (int q = 0; q < fitted_integers; ++q) integers_[q * batch_.stride + row] = counts_[q * n + lane];
    done_[row] |= what;
  }

  void try_without_ut() {
    const int taken = gather(doubted_);
    const T one(1);
    fit_again({one == one, Integer<T>(-1), one, one});
    for (int lane = 0; lane < taken; ++lane) {
      const long row = doubted_.rows[lane];
      if (fit_of(row).gives_way_to(fit_of_lane(lane))) keep(lane, row, treated::ut_taken_out);
      if (fit_of(row).may_be_kicked()) suspects_.add(row);
    }
    doubted_.drop(taken);
    if (suspects_.count >= n) look_for_kicks();
  }

  /// Of the tracks in the tile.
  Mask<T> without_ut(const Waiting<S, n>& waiting, int taken) const {
    S flags[n];
    for (int lane = 0; lane < n; ++lane) {
      const long row = waiting.rows[lane < taken ? lane : taken - 1];
      flags[lane] = static_cast<S>(done_[row] & treated::ut_taken_out);
    }
    return load<T>(flags) > T(0);
  }

  void look_for_kicks() {
    const int taken = gather(suspects_);
    const Kink<T> kink = find_kink<T>(tile_.candidates(), 0, batch_.detector, without_ut(suspects_, taken));
    S k2[n], x[n], y[n];
    int slots[n];
    store(kink.k2, k2);
    store(kink.x, x);
    store(kink.y, y);
    store_integer<T>(kink.slot, slots);
    for (int lane = 0; lane < taken; ++lane) {
      if (k2[lane] > S(robust::hard_kick)) kicked_.add(suspects_.rows[lane], slots[lane], x[lane], y[lane]);
    }
    suspects_.drop(taken);
    if (kicked_.count >= n) enlarge_noise();
  }

  void enlarge_noise() {
    const int taken = gather(kicked_);
    for (int lane = taken; lane < n; ++lane) {
      kicked_.slots[lane] = kicked_.slots[taken - 1];
      kicked_.x[lane] = kicked_.x[taken - 1];
      kicked_.y[lane] = kicked_.y[taken - 1];
    }
    fit_again({without_ut(kicked_, taken), load_integer<T>(kicked_.slots), load<T>(kicked_.x), load<T>(kicked_.y)});
    for (int lane = 0; lane < taken; ++lane) {
      if (!fit_of_lane(lane).known()) continue;
      keep(lane, kicked_.rows[lane], treated::noise_enlarged);
      slot_[kicked_.rows[lane]] = kicked_.slots[lane];
    }
    kicked_.drop(taken);
  }

  const Batch<S>& batch_;
  int* integers_;
  S* before_;
  int *ndof_before_, *done_, *slot_;
  Waiting<S, n> doubted_, suspects_, kicked_;
  Gathered<S, n> gathered_;
  Tile<T> tile_;
  alignas(64) S numbers_[fitted_numbers * n];
  alignas(64) int counts_[fitted_integers * n];
};

}  // namespace

void PARKF_NAME(robust_float_, PARKF_BUILD)(const Batch<float>& batch, FitRange<float> plain, long begin, long end) {
  RobustFits<float>(batch).run(plain, begin, end);
}
void PARKF_NAME(robust_double_, PARKF_BUILD)(const Batch<double>& batch, FitRange<double> plain, long begin, long end) {
  RobustFits<double>(batch).run(plain, begin, end);
}

}  // namespace parkf::kalman::PARKF_FORMS
