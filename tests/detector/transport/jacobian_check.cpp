// Runs the propagation with derivatives under the sanitizers, in scalars and in lanes, at the edges of the valid
// input and beyond. Checks the derivatives. Ends with 0 when all is well.

#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>

#include "numbers/random.hpp"
#include "transport/propagate_jacobian.hpp"

using namespace parkf;
using namespace parkf::transport;

namespace {

using Four = Lanes<double, 4>;

constexpr double grid_end = 500.0;  // mm; where the map of seven nodes ends

int failures = 0;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "failed: %s\n", what);
  ++failures;
}

FieldGrid map(const std::vector<float>& nodes, int size, bool cubic, bool zero_outside) {
  FieldGrid grid;
  grid.nodes = nodes.data();
  for (int axis = 0; axis < 3; ++axis) {
    grid.origin[axis] = -100.0;
    grid.spacing[axis] = 100.0;
    grid.size[axis] = size;
  }
  grid.cubic = cubic;
  grid.zero_outside = zero_outside;
  return grid;
}

/// Propagates particles that differ only in q/p and field, in scalars and in lanes, with derivatives: all bits must
/// agree.
int compare_lanes(const FieldGrid& grid, const Planes<double>& plane, const State<double>& start) {
  const double turns[4] = {1.0, -1.0, 2.0, 0.0};
  Four turn;
  State<Four> together{start.x, start.y, start.tx, start.ty, start.qop, start.z};
  for (int lane = 0; lane < 4; ++lane) turn.v[lane] = turns[lane];
  for (int lane = 0; lane < 4; ++lane) together.qop.v[lane] = start.qop * (lane + 1.0);
  Jacobian<Four> derivatives;
  const auto all = Four(0.0) == Four(0.0);
  const auto ok = propagate_with_jacobian<Four>(grid, turn, {plane.z0, plane.dzdx, plane.dzdy}, 1e-3, all, together,
                                                derivatives);
  int arrived = 0;
  for (int lane = 0; lane < 4; ++lane) {
    State<double> alone = start;
    alone.qop = start.qop * (lane + 1.0);
    State<Dual<5>> dual{Dual<5>::variable(alone.x, 0), Dual<5>::variable(alone.y, 1), Dual<5>::variable(alone.tx, 2),
                        Dual<5>::variable(alone.ty, 3), Dual<5>::variable(alone.qop, 4), Dual<5>(alone.z)};
    Jacobian<double> own;
    const bool reached = propagate_with_jacobian<double>(grid, turns[lane], plane, 1e-3, true, alone, own);
    expect(reached == (ok.bits[lane] != 0), "arrival in lanes");
    FieldGrid turned = grid;
    turned.scale *= turns[lane];
    const bool expected = propagate(turned, {plane.z0, plane.dzdx, plane.dzdy}, 1e-3, dual);
    expect(reached == expected, "arrival");
    if (!reached || !expected) continue;
    ++arrived;
    expect(alone.x == together.x.v[lane] && alone.ty == together.ty.v[lane] && alone.z == together.z.v[lane],
           "states in lanes");
    expect(std::abs(alone.x - dual.x.real) < 1e-9 && std::abs(alone.ty - dual.ty.real) < 1e-12, "state");
    const Dual<5>* rows[4] = {&dual.x, &dual.y, &dual.tx, &dual.ty};
    // Scales of x, y (mm), tx, ty (rad) and q/p (1/MeV) for the comparison; a slope acts over the length of the path.
    const double units[5] = {1.0, 1.0, 1e-3, 1e-3, 1e-7};
    for (std::size_t i = 0; i < 4; ++i) {
      for (std::size_t c = 0; c < 5; ++c) {
        expect(own.of[i][c] == derivatives.of[i][c].v[lane], "derivatives in lanes");
        // The length of the last step also depends on the start, so the derivatives are as good as the step is.
        // Across the map's edge, a step is not a smooth function of its length.
        const double limit = plane.z0 < grid_end ? 2e-5 : 1e-3;
        expect(std::abs(own.of[i][c] - rows[i]->slope[c]) * units[c] < limit * units[i], "derivatives");
      }
    }
  }
  return arrived;
}

void derivatives_of_paths() {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Random<double> random(7, 0, 0, 0);
  std::vector<float> nodes(3 * 7 * 7 * 7);
  for (float& node : nodes) node = static_cast<float>(3.5 * (random.uniform() - 0.5));
  int arrived = 0;
  for (const bool cubic : {false, true}) {
    for (const bool zero_outside : {false, true}) {
      const FieldGrid grid = map(nodes, 7, cubic, zero_outside);
      for (const double slope : {0.0, 0.2, -0.4, 5.0, nan}) {
        for (const double goal : {-90.0, -100.0, 345.0, 500.0, nan}) {
          for (const double lean : {0.0, 0.01}) {
            const State<double> start{150.0 + 10.0 * random.uniform(), 150.0, slope, 0.1, 2e-4, -100.0};
            arrived += compare_lanes(grid, {goal, lean, -0.5 * lean}, start);
          }
        }
      }
    }
  }
  expect(arrived > 200, "most arrive");
}

/// Compares derivatives with differences between the ends of tracks from neighbouring starts, in a field without cells.
void derivatives_against_differences() {
  std::vector<float> nodes;
  for (int node = 0; node < 27; ++node) {
    const auto x = static_cast<float>(node / 9), y = static_cast<float>(node / 3 % 3);
    nodes.insert(nodes.end(), {0.3F * y, -1.0F + 0.2F * x, 0.1F * x * y});
  }
  const FieldGrid grid = map(nodes, 3, false, false);
  const Planes<double> plane{-5.0, 0.003, -0.002};
  const auto carried = [&](int which, double by, Jacobian<double>& jacobian) {
    double s[5] = {-60.0, -55.0, 0.1, -0.2, 1e-3};
    if (which >= 0) s[which] += by;
    State<double> state{s[0], s[1], s[2], s[3], s[4], -90.0};
    expect(propagate_with_jacobian<double>(grid, 1.0, plane, 1e-9, true, state, jacobian), "arrives");
    return state;
  };
  Jacobian<double> jacobian, unused;
  carried(-1, 0.0, jacobian);
  const double steps[5] = {0.1, 0.1, 1e-4, 1e-4, 1e-6};
  for (int c = 0; c < 5; ++c) {
    const State<double> up = carried(c, steps[c], unused), down = carried(c, -steps[c], unused);
    const double differences[4] = {up.x - down.x, up.y - down.y, up.tx - down.tx, up.ty - down.ty};
    for (int i = 0; i < 4; ++i) {
      const double scale = i < 2 ? 0.1 : 1e-3;
      expect(std::abs(2.0 * steps[c] * jacobian.of[i][c] - differences[i]) < 1e-5 * scale, "difference");
    }
  }
}

}  // namespace

int main() {
  derivatives_of_paths();
  derivatives_against_differences();
  return failures;
}
