// Runs the transport headers under the sanitizers, at and beyond the edges of what they expect, and checks the
// generator against its published vectors. Ends with 0 when all is well.

#include <cstdio>
#include <limits>
#include <vector>

#include "threads/parallel.hpp"
#include "transport/particle.hpp"

using namespace parkf;
using namespace parkf::transport;

namespace {

int failures = 0;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "failed: %s\n", what);
  ++failures;
}

void known_random_numbers() {
  using Block = std::array<std::uint32_t, 4>;
  constexpr std::uint32_t full = 0xFFFFFFFFU;
  // Random123's kat_vectors for philox4x32-10.
  expect(philox4x32({0, 0, 0, 0}, {0, 0}) == Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}, "zeros");
  expect(philox4x32({full, full, full, full}, {full, full}) == Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
         "ones");
  expect(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
             Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1},
         "pi");
}

void derivatives() {
  const auto x = Dual<2>::variable(3.0, 0);
  const auto y = Dual<2>::variable(2.0, 1);
  const auto f = root(x * y + 10.0) / (y - 0.5 * x);
  expect(std::abs(f.real - 8.0) < 1e-12, "value");
  // f = sqrt(10 + xy) / (y - x/2): df/dx = y / (2 s d) + s / (2 d^2), df/dy = x / (2 s d) - s / d^2.
  expect(std::abs(f.slope[0] - (2.0 / (2 * 4 * 0.5) + 4.0 / (2 * 0.25))) < 1e-12, "df/dx");
  expect(std::abs(f.slope[1] - (3.0 / (2 * 4 * 0.5) - 4.0 / 0.25)) < 1e-12, "df/dy");
}

FieldGrid small_grid(const std::vector<float>& nodes, bool cubic, bool zero_outside) {
  FieldGrid grid;
  grid.nodes = nodes.data();
  for (int axis = 0; axis < 3; ++axis) {
    grid.origin[axis] = -100.0;
    grid.spacing[axis] = 100.0;
    grid.size[axis] = 3;
  }
  grid.cubic = cubic;
  grid.zero_outside = zero_outside;
  return grid;
}

/// Every corner, edge and outside of a map; tracks that leave it, and that cannot be.
void edges_of_the_map() {
  const std::vector<float> nodes(3 * 27, 0.5F);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const bool cubic : {false, true}) {
    const FieldGrid strict = small_grid(nodes, cubic, false);
    const FieldGrid open = small_grid(nodes, cubic, true);
    Vector3<double> b{};
    for (const double x : {-100.0, 0.0, 100.0})
      for (const double y : {-100.0, 0.0, 100.0})
        for (const double z : {-100.0, 0.0, 100.0})
          expect(field_at(strict, x, y, z, b) && std::abs(b.y - 0.5) < 1e-6, "node");
    for (const double off : {-100.1, 100.1, 1e300, -1e300}) {
      expect(!field_at(strict, off, 0.0, 0.0, b), "outside is refused");
      expect(field_at(open, 0.0, 0.0, off, b) && b.y == 0.0, "outside is zero");
    }
    expect(!field_at(open, nan, 0.0, 0.0, b), "no number");
    for (const double qop : {0.0, 1e-4, -1e-2, 1.0, nan})
      for (const double slope : {0.0, 0.3, -5.0, nan})
        for (const double goal : {90.0, -90.0, 500.0, nan}) {
          State<double> state{0.0, 0.0, slope, 0.0, qop, 0.0};
          propagate(strict, {goal, 0.0, 0.01}, 1e-4, state);
          propagate(open, {goal, 0.0, 0.01}, 1e-4, state);
        }
  }
}

/// Particles of all kinds through all kinds of surfaces.
void particles_through_material() {
  const std::vector<float> nodes(3 * 27, 0.1F);
  const FieldGrid grid = small_grid(nodes, false, true);
  Detector detector;
  detector.materials.push_back({14.0, 2.329, 0.49848, 93.7, 173e-6, 0.2015, 2.8716, 0.14921, 3.2546, 4.4351});
  for (int i = 0; i < 20; ++i) {
    Surface surface{};
    surface.plane = {-80.0 + 8.0 * i, 0.001 * i, -0.002 * i};
    surface.map[0] = surface.map[3] = 1.0;
    if (i % 2) surface.panels.push_back({0.0, 0.0, 0.8, 0.6, 50.0, 20.0});
    surface.hole_u = surface.hole_v = i % 3;
    surface.plane_index = i % 4 ? i : -1;
    surface.thickness = i % 5;
    surface.companion_index = i == 13 ? 20 : -1;
    surface.companion = {-80.0 + 8.0 * i + 1.0, 0.0, 0.0};
    detector.surfaces.push_back(surface);
  }
  detector.tubes.push_back({5.0, -80.0, 60.0, 0, 0.5});
  const Tracker tracker(grid, detector, {42, 1e-3, 100.0, 1.0});
  std::vector<std::vector<Crossing>> crossings(64);
  for_blocks(64, 8, 3, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const double p = i % 7 ? 150.0 * static_cast<double>(i) : 1e6;
      const double slope = 0.02 * static_cast<double>(i % 60);
      tracker.follow({0, static_cast<int>(i), i % 2 ? 1.0 : -1.0, i % 3 ? 139.57 : 938.27, 0.0, 0.0, -90.0, p * slope,
                      0.5 * p * slope, p},
                     crossings[i]);
    }
  });
  std::size_t count = 0;
  for (const auto& of_one : crossings)
    for (const Crossing& crossing : of_one) {
      ++count;
      expect(std::isfinite(crossing.x + crossing.tx + crossing.p) && crossing.p > 0.0, "finite");
    }
  expect(count > 300, "crossings");
  std::vector<Crossing> none;
  tracker.follow({0, 0, 1.0, 139.57, 0.0, 0.0, 0.0, 0.0, 0.0, -1e4}, none);
  tracker.follow({0, 0, 0.0, 139.57, 0.0, 0.0, 0.0, 0.0, 0.0, 1e4}, none);
  expect(none.empty(), "backwards and neutral particles leave nothing");
}

}  // namespace

int main() {
  known_random_numbers();
  derivatives();
  edges_of_the_map();
  particles_through_material();
  return failures;
}
