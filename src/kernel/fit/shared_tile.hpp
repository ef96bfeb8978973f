#pragma once
// The hits of a GPU block's tracks, transposed in memory that its threads share. Neighbouring threads read rows once
// and in one piece, and then the fit finds the slots of neighbouring tracks side by side.

#include "fit/track.hpp"

namespace parkf::kalman {

/// One more than the number of threads, so that threads that write neighbouring slots use different banks of memory.
template <int threads>
constexpr int shared_stride = threads + 1;

/// Turn rows of `slots` slots, those of the block's tracks, into (slot, track), several slots at a time.
template <int threads, int slots, class S>
KERNEL_FUNCTION void turn(const S* source, int tracks, int thread, S* target) {
  constexpr int together = slots * sizeof(S) % 16 == 0 ? 16 / sizeof(S) : 8 / sizeof(S), parts = slots / together;
  for (int i = thread; i < tracks * parts; i += threads) {
    const int track = i / parts, slot = (i - track * parts) * together;
    S numbers[together];
    load_together<together>(source + i * together, numbers);
    for (int j = 0; j < together; ++j) target[(slot + j) * shared_stride<threads> + track] = numbers[j];
  }
}

/// The hits before the magnet. Each thread does its part of `fill`, for `tracks` tracks from number `begin` on. There is
/// no loop in it, because a pointer that a loop's variable chooses would lie in memory and not in a register.
template <class S, int threads>
struct SharedFront {
  S ut[4][ut_layers * shared_stride<threads>], velo[3][velo_slots * shared_stride<threads>];

  KERNEL_FUNCTION void fill(const CandidateRows<S>& rows, long begin, int tracks, int thread) {
    const long v = begin * velo_slots, u = begin * ut_layers;
    turn<threads, velo_slots>(rows.velo[0] + v, tracks, thread, velo[0]);
    turn<threads, velo_slots>(rows.velo[1] + v, tracks, thread, velo[1]);
    turn<threads, velo_slots>(rows.velo[2] + v, tracks, thread, velo[2]);
    turn<threads, ut_layers>(rows.ut[0] + u, tracks, thread, ut[0]);
    turn<threads, ut_layers>(rows.ut[1] + u, tracks, thread, ut[1]);
    turn<threads, ut_layers>(rows.ut[2] + u, tracks, thread, ut[2]);
    turn<threads, ut_layers>(rows.ut[3] + u, tracks, thread, ut[3]);
  }
};

/// The hits behind the magnet.
template <class S, int threads>
struct SharedBehind {
  S scifi[4][scifi_layers * shared_stride<threads>];

  KERNEL_FUNCTION void fill(const CandidateRows<S>& rows, long begin, int tracks, int thread) {
    const long s = begin * scifi_layers;
    turn<threads, scifi_layers>(rows.scifi[0] + s, tracks, thread, scifi[0]);
    turn<threads, scifi_layers>(rows.scifi[1] + s, tracks, thread, scifi[1]);
    turn<threads, scifi_layers>(rows.scifi[2] + s, tracks, thread, scifi[2]);
    turn<threads, scifi_layers>(rows.scifi[3] + s, tracks, thread, scifi[3]);
  }
};

/// The block's candidates for the fit, whose hits are in shared memory.
template <class S, int threads>
KERNEL_FUNCTION Candidates<S> shared_candidates(const CandidateRows<S>& rows, long begin,
                                                const SharedFront<S, threads>& front,
                                                const SharedBehind<S, threads>& behind) {
  return {shared_stride<threads>, rows.polarity + begin, rows.qop + begin, rows.velo_n + begin,
          front.velo[0],          front.velo[1],         front.velo[2],    front.ut[0],
          front.ut[1],            front.ut[2],           front.ut[3],      behind.scifi[0],
          behind.scifi[1],        behind.scifi[2],       behind.scifi[3]};
}

}  // namespace parkf::kalman
