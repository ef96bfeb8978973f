#pragma once
// Checks of a candidate's numbers, before any fit.

#include "fit/status.hpp"
#include "full_fit/way.hpp"

namespace parkf::full_fit {

/// Bits of fit/status.hpp for the candidate in this row.
KERNEL_FUNCTION int wrong_inputs(const Way& way, const Rows& rows, long row) {
  namespace status = kalman::status;
  const double qop = rows.qop[row];
  const int number = rows.velo_n[row];
  int found = finite(qop) && qop != 0.0 ? 0 : status::wrong_qop;
  if (number < 0 || number > velo_slots) found |= status::velo_count;
  const double* z = rows.velo[2] + row * velo_slots;
  for (int slot = 1; slot < number && slot < velo_slots; ++slot) {
    if (z[slot] < z[slot - 1]) found |= status::velo_unsorted;
  }
  double off2 = 0.0;
  for (const Layer& layer : way.layers) {
    if (layer.part == Part::none) continue;
    const bool ut = layer.part == Part::ut;
    const long at = row * (ut ? ut_layers : scifi_layers) + layer.slot;
    const auto& hit = ut ? rows.ut : rows.scifi;
    if (!finite(hit[0][at])) continue;
    const transport::Plane& plane = layer.surface->plane;
    if (hit[3][at] <= 0.0) found |= status::wrong_sigma;
    const double off = hit[1][at] - (plane.z0 + plane.dzdx * hit[0][at]);
    off2 += off * off;
  }
  if (off2 > kalman::plane_tolerance * kalman::plane_tolerance) found |= status::wrong_plane;
  return found;
}

}  // namespace parkf::full_fit
