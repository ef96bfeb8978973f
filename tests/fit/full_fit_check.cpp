// Runs the full fit's headers under the sanitizers, in scalars or in lanes (NUMBER), on tracks with all kinds of hits
// through a small detector. Prints the fitted tracks; ends with 0 when all is well.

#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>

#include "full_fit/store.hpp"
#include "numbers/random.hpp"

using namespace parkf;
using namespace parkf::full_fit;

namespace {

constexpr long count = 37;
constexpr int first_ut = 52, first_scifi = 58;
const double nan = std::numeric_limits<double>::quiet_NaN();

transport::Surface surface(double z, int plane, double thickness, double lean) {
  transport::Surface result{};
  result.plane = {z, 0.1 * lean, lean};
  result.map[0] = result.map[3] = 1.0;
  result.hole_u = result.hole_v = 2.0;
  result.plane_index = plane;
  result.thickness = thickness;
  if (plane >= 0) result.panels.push_back({0.0, 0.0, 0.8, 0.6, 500.0, 400.0});
  return result;
}

transport::Detector small_detector() {
  transport::Detector detector;
  detector.add({14.0, 2.329, 0.49848, 93.7, 173e-6, 0.2015, 2.8716, 0.14921, 3.2546, 4.4351});
  for (int i = 0; i < velo_modules; ++i) detector.surfaces.push_back(surface(20.0 * i, i, 0.3, 0.0));
  detector.surfaces.push_back(surface(1050.0, -1, 2.0, 0.0));
  for (int i = 0; i < ut_layers; ++i) detector.surfaces.push_back(surface(1100.0 + 50 * i, first_ut + i, 0.3, 0.001));
  detector.surfaces.push_back(surface(1400.0, first_ut + ut_layers, 0.0, 0.0));
  for (int i = 0; i < scifi_layers; ++i)
    detector.surfaces.push_back(surface(1500.0 + 30 * i, first_scifi + i, 1.0, 0.004));
  detector.tubes.push_back({5.0, -300.0, 800.0, 0, 0.5});
  return detector;
}

/// One array for each quantity, so that the sanitizer finds reading beyond any of them.
struct Candidates {
  std::vector<double> polarity, qop, velo[3], ut[4], scifi[4];
  std::vector<int> velo_n;

  Candidates() {
    Random<double> random(3, 0, 0, 0);
    for (long track = 0; track < count; ++track) {
      const double tx = 0.7 * (random.uniform() - 0.5), ty = 0.35 * (random.uniform() - 0.5);
      const int hits = static_cast<int>(track % 28) - 1;  // fewer than none, and more than there are slots
      polarity.push_back(track % 2 ? 1.0 : -1.0);
      qop.push_back(track == 5 ? nan : track == 6 ? 0.0 : 1.0 / (1000.0 + 500.0 * static_cast<double>(track)));
      velo_n.push_back(hits + (track % 28 == 27 ? 100 : 0));
      for (int slot = 0; slot < velo_slots; ++slot) {
        const double z = 40.0 * slot + (track % 3 ? 1.0 : 0.0);
        const bool broken = track == 9 && slot == 3;
        velo[0].push_back(broken ? nan : tx * z + 0.035 * (random.uniform() - 0.5));
        velo[1].push_back(ty * z);
        velo[2].push_back(track == 10 && slot == 3 ? nan : track == 11 ? 7.0 : z);
      }
      strips(ut, ut_layers, 1100.0, 50.0, tx, random, track % 5 == 0);
      strips(scifi, scifi_layers, 1500.0, 30.0, tx, random, track % 7 == 0);
    }
  }

  void strips(std::vector<double> (&rows)[4], int layers, double z, double step, double tx, Random<double>& random, bool none) {
    for (int layer = 0; layer < layers; ++layer) {
      const bool missing = none || random.uniform() < 0.1;
      rows[0].push_back(missing ? nan : tx * (z + step * layer));
      rows[1].push_back(missing ? nan : z + step * layer);
      rows[2].push_back(missing ? nan : 0.09 * (layer % 3 - 1));
      rows[3].push_back(missing ? nan : 0.1);
    }
  }
};

}  // namespace

int main() {
  const Candidates c;
  const transport::Detector detector = small_detector();
  std::vector<float> nodes;
  for (int node = 0; node < 9 * 9 * 30; ++node) nodes.insert(nodes.end(), {0.05F, -0.5F, 0.01F * (node % 30)});
  double numbers[all_numbers * count];
  int integers[fitted_integers * count];
  Batch batch{{},
              make_way(detector, {first_ut, first_scifi}, 0.0125, 0.02, -0.03),
              {count,
               c.polarity.data(),
               c.qop.data(),
               c.velo_n.data(),
               {c.velo[0].data(), c.velo[1].data(), c.velo[2].data()},
               {c.ut[0].data(), c.ut[1].data(), c.ut[2].data(), c.ut[3].data()},
               {c.scifi[0].data(), c.scifi[1].data(), c.scifi[2].data(), c.scifi[3].data()}},
              nullptr,
              true,
              numbers,
              integers};
  batch.grid.nodes = nodes.data();
  const int size[3] = {9, 9, 30};
  for (int axis = 0; axis < 3; ++axis) {
    batch.grid.origin[axis] = axis == 2 ? -500.0 : -1200.0;
    batch.grid.spacing[axis] = axis == 2 ? 100.0 : 300.0;
    batch.grid.size[axis] = size[axis];
  }
  using T = NUMBER;
  for (const parkf::kalman::Kind& kind : parkf::kalman::kinds) {
    batch.kind = &kind;
    for (long i = 0; i < count; i += Number<T>::lanes) {
      const Tracks<T> tracks(batch.way, batch.tracks, i);
      Filter<T> filter(batch.grid, tracks, kind, batch.errors);
      store(filter.run(), tracks, batch, i, count);
    }
    for (const double number : numbers) std::printf("%a\n", std::isfinite(number) ? number : 0.0);
    for (const int number : integers) std::printf("%d\n", number);
  }
}
