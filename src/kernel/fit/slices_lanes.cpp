// Steps through the magnet by slices, compiled for every instruction set, which PARKF_BUILD names.

#include "numbers/together.hpp"

#include "fit/slices_batch.hpp"
#include "fit/slices_lanes.hpp"
#include "numbers/build_names.hpp"

namespace parkf::slices {
namespace {

template <class S>
void carry_range(const Batch<S>& batch, long begin, long end) {
  using T = Together<S>;
  constexpr int lanes = Number<T>::lanes;
  for (long i = begin; i < end; i += lanes) {
    Scattered<T> track;
    T pol, z_from, z_to;
    T* const state[5] = {&track.s.x, &track.s.y, &track.s.tx, &track.s.ty, &track.s.k};
    for (int lane = 0; lane < lanes; ++lane) {
      // Lanes behind the last track carry this one again.
      const long from = i + lane < end ? i + lane : end - 1;
      for (int q = 0; q < 5; ++q) put(*state[q], lane, batch.states[5 * from + q]);
      for (int q = 0; q < covariance_numbers; ++q) {
        put(track.c[q], lane, batch.covariances[covariance_numbers * from + q]);
      }
      put(pol, lane, batch.polarity[from]);
      put(z_from, lane, batch.z_from[from]);
      put(z_to, lane, batch.z_to[from]);
    }
    carry(batch.slices, pol, z_from, z_to, track);
    const T lost = select(track.lost, T(1), T(0));
    for (int lane = 0; lane < lanes && i + lane < end; ++lane) {
      const long to = i + lane;
      for (int q = 0; q < 5; ++q) batch.carried[5 * to + q] = lane_of(*state[q], lane);
      for (int q = 0; q < covariance_numbers; ++q) {
        batch.carried_covariances[covariance_numbers * to + q] = lane_of(track.c[q], lane);
      }
      for (int row = 0; row < 4; ++row) {
        for (int column = 0; column < 5; ++column) {
          batch.jacobians[20 * to + 5 * row + column] = lane_of(track.jacobian[row][column], lane);
        }
      }
      batch.inside[to] = lane_of(lost, lane) == S(0);
    }
  }
}

}  // namespace

extern const Build PARKF_NAME(build_, PARKF_BUILD);
const Build PARKF_NAME(build_, PARKF_BUILD){PARKF_QUOTE(PARKF_BUILD), carry_range<float>, carry_range<double>};

}  // namespace parkf::slices
