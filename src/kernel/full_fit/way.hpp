#pragma once
// Material and hits on the way of the full fit's tracks, in the order of z.

#include <vector>

#include "transport/detector.hpp"

namespace parkf::full_fit {

constexpr int velo_slots = 26, velo_modules = 52, ut_layers = 4, scifi_layers = 12;

enum class Part { velo, ut, scifi, none };
constexpr int parts = 3;  // those that measure

/// A surface behind the VELO that every track crosses.
struct Layer {
  const transport::Surface* surface;
  Part part;
  int slot;  // of its hits
};

/// Numbers of planes at which the parts of the detector begin.
struct PlaneNumbers {
  int ut, scifi;
};

/// The detector in the order in which tracks cross it, and other constants of the fit.
struct Way {
  const transport::Detector* detector;
  std::vector<const transport::Surface*> velo;
  std::vector<Layer> layers;  // ascending z
  double velo_sigma;          // mm
  double beam_x, beam_y;      // mm
};

inline Way make_way(const transport::Detector& detector, const PlaneNumbers& first, double velo_sigma, double beam_x,
                    double beam_y) {
  Way way{&detector, {}, {}, velo_sigma, beam_x, beam_y};
  for (const transport::Surface& surface : detector.surfaces) {
    const int plane = surface.plane_index;
    const auto within = [plane](int begin, int count) { return begin <= plane && plane < begin + count; };
    if (within(0, velo_modules)) way.velo.push_back(&surface);
    if (plane < 0) way.layers.push_back({&surface, Part::none, 0});
    if (within(first.ut, ut_layers)) way.layers.push_back({&surface, Part::ut, plane - first.ut});
    if (within(first.scifi, scifi_layers)) way.layers.push_back({&surface, Part::scifi, plane - first.scifi});
  }
  return way;
}

/// Rows of candidates. Arrays of hits are (track, slot).
struct Rows {
  long count;
  const double *polarity, *qop;
  const int* velo_n;
  const double* velo[3];   // x, y, z
  const double* ut[4];     // x at y = 0, z, dx/dy, sigma; x is NaN where there is no hit
  const double* scifi[4];  // the same
};

/// A module on a track's way through the VELO.
struct VeloVisit {
  double x, y, z;
  bool hit;  // false: crossed without leaving one
};

struct VeloVisits {
  int count = 0;
  VeloVisit of[velo_slots + velo_modules];

  /// Insert a visit behind all visits that are not further downstream.
  KERNEL_FUNCTION void insert(const VeloVisit& visit) {
    int place = count++;
    for (; place > 0 && of[place - 1].z > visit.z; --place) of[place] = of[place - 1];
    of[place] = visit;
  }
};

/// Find the hits of a track, and the modules behind the first hit that the line from first to last hit crosses without
/// a hit.
KERNEL_FUNCTION void visit_velo(const Way& way, const double* x, const double* y, const double* z, int used,
                                VeloVisits& visits) {
  constexpr double same_module = 3.0;  // mm; a module's sensors lie that close to its plane, the next one's do not
  for (int i = 0; i < used; ++i) {
    if (finite(z[i])) visits.insert({x[i], y[i], z[i], true});
  }
  if (used < 2) return;
  const int hits = visits.count;
  const double per_z = 1.0 / (z[used - 1] - z[0]);
  const double tx = (x[used - 1] - x[0]) * per_z, ty = (y[used - 1] - y[0]) * per_z;
  VeloVisit measured[velo_slots];
  for (int i = 0; i < hits; ++i) measured[i] = visits.of[i];
  for (const transport::Surface* module : way.velo) {
    const double module_z = module->plane.z0, dz = module_z - z[0];
    bool missed = dz > same_module;
    for (int i = 0; i < hits && missed; ++i) missed = !(magnitude(measured[i].z - module_z) < same_module);
    if (missed && module->covers(x[0] + tx * dz, y[0] + ty * dz)) visits.insert({0.0, 0.0, module_z, false});
  }
}

}  // namespace parkf::full_fit
