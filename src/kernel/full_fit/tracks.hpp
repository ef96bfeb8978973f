#pragma once
// The candidates that are fitted together, one in each lane, with the hits and modules on the way of each.

#include "full_fit/way.hpp"
#include "numbers/lanes.hpp"

namespace parkf::full_fit {

/// One number for each lane, in memory.
template <class T>
struct alignas(64) Column {
  Scalar<T> lane[Number<T>::lanes];

  KERNEL_FUNCTION T load() const {
    T result;
    __builtin_memcpy(&result, lane, sizeof(T));
    return result;
  }
};

/// A hit of each lane on one surface.
template <class T>
struct Hits {
  T z0;                    // z0 of the planes, which go through the hits if there are any, mm
  Mask<T> present;         // the tracks that come here
  Mask<T> measured;        // those with a hit
  T x, y, dxdy, variance;  // mm, mm²; y of pixels alone, which have no slope
};

template <class T>
struct Tracks {
  static constexpr int lanes = Number<T>::lanes;

  const Way& way;
  Column<T> polarity, qop, velo_n;
  Column<T> first[3], last[3];  // VELO hits: x, y, z
  int velo_count = 0;           // visits of the track that has most
  struct Visit {
    Column<T> x, y, z, present, hit;
  } velo[velo_slots + velo_modules];
  struct Strip {
    Column<T> x, z, dxdy, sigma;
  } ut[ut_layers], scifi[scifi_layers];

  /// Tracks begin, begin + 1, …; the lanes beyond the last track repeat it.
  KERNEL_FUNCTION Tracks(const Way& way, const Rows& rows, long begin) : way(way) {
    VeloVisits visits[lanes];
    for (int lane = 0; lane < lanes; ++lane) {
      const long row = begin + lane < rows.count ? begin + lane : rows.count - 1;
      polarity.lane[lane] = rows.polarity[row];
      qop.lane[lane] = rows.qop[row];
      read_velo(rows, row, lane, visits[lane]);
      read_strips(rows.ut, row, lane, ut);
      read_strips(rows.scifi, row, lane, scifi);
      if (visits[lane].count > velo_count) velo_count = visits[lane].count;
    }
    for (int slot = 0; slot < velo_count; ++slot) {
      for (int lane = 0; lane < lanes; ++lane) {
        const bool present = slot < visits[lane].count;
        const VeloVisit visit = present ? visits[lane].of[slot] : VeloVisit{0.0, 0.0, 0.0, false};
        velo[slot].x.lane[lane] = visit.x;
        velo[slot].y.lane[lane] = visit.y;
        velo[slot].z.lane[lane] = visit.z;
        velo[slot].hit.lane[lane] = visit.hit ? 1.0 : 0.0;
        velo[slot].present.lane[lane] = present ? 1.0 : 0.0;
      }
    }
  }

  KERNEL_FUNCTION Hits<T> velo_hits(int slot) const {
    const Visit& visit = velo[slot];
    return {visit.z.load(),
            visit.present.load() > T(0.0),
            visit.hit.load() > T(0.0),
            visit.x.load(),
            visit.y.load(),
            T(0.0),
            T(way.velo_sigma * way.velo_sigma)};
  }

  KERNEL_FUNCTION Hits<T> strip_hits(const Layer& layer) const {
    const transport::Plane& plane = layer.surface->plane;
    const Mask<T> all = T(0.0) == T(0.0), none = T(0.0) > T(0.0);
    if (layer.part == Part::none) return {T(plane.z0), all, none, T(0.0), T(0.0), T(0.0), T(1.0)};
    const Strip& strip = layer.part == Part::ut ? ut[layer.slot] : scifi[layer.slot];
    const T x = strip.x.load(), sigma = strip.sigma.load();
    const Mask<T> measured = finite(x);
    return {select(measured, T(strip.z.load() - plane.dzdx * x), T(plane.z0)),
            all,
            measured,
            select(measured, x, T(0.0)),
            T(0.0),
            select(measured, strip.dxdy.load(), T(0.0)),
            select(measured, T(sigma * sigma), T(1.0))};
  }

 private:
  KERNEL_FUNCTION void read_velo(const Rows& rows, long row, int lane, VeloVisits& visits) {
    const double* hits[3];
    for (int i = 0; i < 3; ++i) hits[i] = rows.velo[i] + row * velo_slots;
    const int number = rows.velo_n[row];
    const int used = number < 0 ? 0 : number < velo_slots ? number : velo_slots;
    velo_n.lane[lane] = used;
    for (int i = 0; i < 3; ++i) {
      first[i].lane[lane] = hits[i][0];
      last[i].lane[lane] = hits[i][used > 0 ? used - 1 : 0];
    }
    visit_velo(way, hits[0], hits[1], hits[2], used, visits);
  }

  template <int layers>
  KERNEL_FUNCTION void read_strips(const double* const (&hits)[4], long row, int lane, Strip (&strips)[layers]) {
    for (int layer = 0; layer < layers; ++layer) {
      const long at = row * layers + layer;
      strips[layer].x.lane[lane] = hits[0][at];
      strips[layer].z.lane[lane] = hits[1][at];
      strips[layer].dxdy.lane[lane] = hits[2][at];
      strips[layer].sigma.lane[lane] = hits[3][at];
    }
  }
};

}  // namespace parkf::full_fit
