// This file is compiled once for every set of forms. The generated headers have the name of the set.

#include "fit/forms.hpp"

#include <algorithm>
#include <builds.hpp>

#include "fit/rich.hpp"
#include "fit/tiles.hpp"
#include "fit/trigger.hpp"
#include "numbers/build_names.hpp"
#include "steps_by_name.hpp"

namespace parkf::kalman::PARKF_FORMS {

PARKF_DECLARE_BUILDS

namespace {

void through_table(const float* table, const double* header, double pol, State<double>& s, double* derivatives) {
  MagnetCoefficients<double> m;
  magnet_coefficients(table, header, s, m);
  JacobianMagnet<double> f;
  bool low_momentum;
  magnet_table(m, header, pol * s.k, s, f, low_momentum);
  const double rows[12] = {f.x_tx,  f.x_ty,  f.x_k,  f.y_tx,  f.y_ty,  f.y_k,
                           f.tx_tx, f.tx_ty, f.tx_k, f.ty_tx, f.ty_ty, f.ty_k};
  std::copy(rows, rows + 12, derivatives);
}

/// Writes a track at each point.
template <class S>
struct Trace {
  S* points;

  void operator()(int point, const kalman::trigger::Track<S>& track) const {
    S* to = points + point * trigger::point::numbers;
    const S state[5] = {track.s.x, track.s.y, track.s.tx, track.s.ty, track.s.k};
    to = std::copy(state, state + 5, to);
    to = std::copy(track.c.elements, track.c.elements + 15, to);
    *to = track.z;
  }
};

template <class S>
void trace_trigger(const Batch<S>& batch, S* points) {
  if constexpr (has_trigger) {
    Tile<S> tile;
    for (long i = 0; i < batch.tracks.count; ++i) {
      fill(batch.tracks, i, tile);
      MagnetCoefficients<S> m;
      const Trace<S> see{points + i * trigger::point::count * trigger::point::numbers};
      store(trigger::fit<S>(tile.candidates(), 0, batch.detector, m, see), batch.stride, i, batch.numbers, batch.integers);
    }
  } else {
    (void)batch, (void)points;
  }
}

}  // namespace

extern const Forms forms;
const Forms forms{PARKF_QUOTE(PARKF_FORMS),
                  formulas_hash,
                  layout::count,
                  layout::UTT_META,
                  rich::count,
                  rich::planes * plane_numbers,
                  has_trigger,
                  PARKF_ALL_BUILDS,
                  run_step<double>,
                  through_table,
                  trace_trigger<float>,
                  trace_trigger<double>,
                  bin::is_mine};

}  // namespace parkf::kalman::PARKF_FORMS
