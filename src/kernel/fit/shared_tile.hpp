#pragma once
// The hits of a GPU block's tracks, transposed in memory that its threads share. Neighbouring threads read rows once
// and in one piece, and then the fit finds the slots of neighbouring tracks side by side.

#include "fit/track.hpp"

namespace parkf::kalman {

template <class S, int threads>
struct SharedTile {
  // One more than the number of threads, so that threads that write neighbouring slots use different banks of memory.
  static constexpr int stride = threads + 1;
  static constexpr int velo = 0, ut = velo + 3 * velo_slots * stride, scifi = ut + 4 * ut_layers * stride;
  static constexpr int numbers = candidate_numbers * stride;

  S* hits;  // so many numbers

  /// Do one thread's part of the work for `tracks` tracks from number `begin` on.
  KERNEL_FUNCTION void fill(const CandidateRows<S>& rows, long begin, int tracks, int thread) const {
    const auto turn_velo = [&](int q, const S* source) {
      turn<velo_slots>(source + begin * velo_slots, tracks, thread, hits + velo + q * velo_slots * stride);
    };
    const auto turn_ut = [&](int q, const S* source) {
      turn<ut_layers>(source + begin * ut_layers, tracks, thread, hits + ut + q * ut_layers * stride);
    };
    const auto turn_scifi = [&](int q, const S* source) {
      turn<scifi_layers>(source + begin * scifi_layers, tracks, thread, hits + scifi + q * scifi_layers * stride);
    };
    // There is no loop here, because a pointer that a loop's variable chooses would lie in memory and not in a
    // register.
    turn_velo(0, rows.velo[0]);
    turn_velo(1, rows.velo[1]);
    turn_velo(2, rows.velo[2]);
    turn_ut(0, rows.ut[0]);
    turn_ut(1, rows.ut[1]);
    turn_ut(2, rows.ut[2]);
    turn_ut(3, rows.ut[3]);
    turn_scifi(0, rows.scifi[0]);
    turn_scifi(1, rows.scifi[1]);
    turn_scifi(2, rows.scifi[2]);
    turn_scifi(3, rows.scifi[3]);
  }

  /// The candidates for the fit, when all threads have done their part.
  KERNEL_FUNCTION Candidates<S> candidates(const CandidateRows<S>& rows, long begin) const {
    constexpr int v = velo_slots * stride, u = ut_layers * stride, s = scifi_layers * stride;
    const S *x = hits + velo, *strips = hits + ut, *fibres = hits + scifi;
    return {stride,     rows.polarity + begin, rows.qop + begin,   rows.velo_n + begin,
            x,          x + v,                 x + 2 * v,          strips,
            strips + u, strips + 2 * u,        strips + 3 * u,     fibres,
            fibres + s, fibres + 2 * s,        fibres + 3 * s};
  }

 private:
  /// Turn rows of `slots` slots into (slot, track), several slots at a time.
  template <int slots>
  KERNEL_FUNCTION static void turn(const S* source, int tracks, int thread, S* target) {
    constexpr int together = slots * sizeof(S) % 16 == 0 ? 16 / sizeof(S) : 8 / sizeof(S), parts = slots / together;
    for (int i = thread; i < tracks * parts; i += threads) {
      const int track = i / parts, slot = (i - track * parts) * together;
      S numbers[together];
      load_together<together>(source + i * together, numbers);
      for (int j = 0; j < together; ++j) target[(slot + j) * stride + track] = numbers[j];
    }
  }
};

}  // namespace parkf::kalman
