// Runs the transport headers under the sanitizers, at the edges of the valid input and beyond, and checks the
// generator against its published vectors. Ends with 0 when all is well.

#include <cstdio>
#include <limits>
#include <memory>
#include <vector>

#define PARKF_BUILD check
#define PARKF_LANE_BYTES 0

#include "threads/parallel.hpp"
#include "transport/carry_lanes.cpp"
#include "transport/particle.hpp"
#include "transport/rows.hpp"

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
  const auto gives = [](std::uint64_t seed, std::vector<std::uint64_t> counter, std::vector<std::uint64_t> expected) {
    std::uint64_t words[4];
    std::copy(counter.begin(), counter.end(), words);
    philox4x32(words, seed);
    return std::equal(expected.begin(), expected.end(), words);
  };
  constexpr std::uint64_t full = 0xFFFFFFFF;
  // Random123's kat_vectors for philox4x32-10.
  expect(gives(0, {0, 0, 0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}), "zeros");
  expect(gives(~0ULL, {full, full, full, full}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}), "ones");
  expect(gives(0x299f31d0a4093822, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
               {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}),
         "pi");
  Random<double> all(7, 1, 2, 3), later(7, 1, 2, 3, 5);
  for (int i = 0; i < 5; ++i) all.uniform();
  for (int i = 0; i < 3; ++i) expect(all.uniform() == later.uniform(), "numbers behind others");
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

/// Functions against the C library, whose errors are below one unit of the last digit; in lanes, the same bits.
void functions() {
  using L = Lanes<double, 4>;
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinite = std::numeric_limits<double>::infinity();
  const auto near = [](double a, double b) { return std::abs(a - b) <= 3 * std::abs(b) * 0x1p-52; };
  std::vector<double> numbers = {0x1p-1022, 1e-300, 0.5, 0.70710678118654757, 1.0, 1.4142135623730951, 1e308};
  for (int i = 1; i < 4000; ++i) numbers.push_back(0.001 * i + 1e-9 * i * i);
  for (const double a : numbers) {
    expect(near(logarithm(a), std::log(a)), "logarithm");
    expect(near(antilogarithm(0.1 * a - 100.0), std::exp(0.1 * a - 100.0)) || a > 1e4, "antilogarithm");
    const double turns = a - std::floor(a) - 0.5, angle = two_pi * turns;
    const Angle<double> of = turned(turns);
    expect(std::abs(of.sine - std::sin(angle)) < 4e-16 && std::abs(of.cosine - std::cos(angle)) < 4e-16, "angle");
    expect(std::abs(of.sine * of.sine + of.cosine * of.cosine - 1.0) < 4e-16, "circle");
  }
  expect(logarithm(0.0) == -infinite && logarithm(infinite) == infinite, "ends of the logarithm");
  expect(std::isnan(logarithm(-1.0)) && std::isnan(logarithm(nan)) && std::isnan(antilogarithm(nan)), "no numbers");
  expect(antilogarithm(-1e9) < 1e-307 && antilogarithm(1e9) > 1e307, "ends of the antilogarithm");
  expect(turned(0.25).cosine == 0.0 && turned(-0.5).cosine == -1.0 && turned(0.75).sine == -1.0, "quarters");
  numbers.insert(numbers.end(), {0.0, -1.0, nan, infinite});
  for (std::size_t i = 0; i + 4 <= numbers.size(); ++i) {
    L a;
    __builtin_memcpy(&a, &numbers[i], sizeof(a));
    const L log_a = logarithm(a), exp_a = antilogarithm(a), power_a = power(a, 3.25);
    const Angle<L> of = turned(L(0.1 * a));
    for (int lane = 0; lane < 4; ++lane) {
      const double one = numbers[i + static_cast<std::size_t>(lane)];
      const Angle<double> of_one = turned(0.1 * one);
      expect(same(log_a.v[lane], logarithm(one)) && same(exp_a.v[lane], antilogarithm(one)) &&
                 same(power_a.v[lane], power(one, 3.25)) && same(of.sine.v[lane], of_one.sine) &&
                 same(of.cosine.v[lane], of_one.cosine),
             "functions in lanes");
    }
  }
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
    grid.spacing[axis] = 50.0;
    grid.size[axis] = 5;
  }
  grid.cubic = cubic;
  grid.zero_outside = zero_outside;
  return grid;
}

/// Looks up all corners and edges of a map and points outside it; propagates tracks that leave it or are impossible.
void edges_of_the_map() {
  const std::vector<float> nodes(3 * 125, 0.5F);
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

/// Lanes and scalars give the same bits and lose the same states.
void lanes_agree_with_one() {
  std::vector<float> nodes;
  for (int i = 0; i < 3 * 125; ++i) nodes.push_back(0.1F * static_cast<float>(i % 17) - 0.8F);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> states, z, planes;
  for (const double qop : {0.0, 1e-4, -1e-3, -1e-2, 1.0, nan})
    for (const double slope : {0.0, 0.3, -0.7, 5.0, nan})
      for (const double goal : {90.0, -90.0, 0.0, 1e-7, 500.0, nan}) {
        states.insert(states.end(), {1.0, -2.0, slope, 0.1, qop});
        z.push_back(0.0);
        planes.insert(planes.end(), {goal, 0.002, 0.01});
      }
  const std::size_t count = z.size();
  for (const bool cubic : {false, true})
    for (const bool zero_outside : {false, true}) {
      const FieldGrid grid = small_grid(nodes, cubic, zero_outside);
      std::vector<double> ends(5 * count), end_z(count);
      const auto ok = std::make_unique<bool[]>(count);
      Rows rows(states.data(), z.data(), planes.data(), ends.data(), end_z.data(), ok.get(), 0, count);
      build_check.carry(grid, 1e-4, rows);
      for (std::size_t i = 0; i < count; ++i) {
        const double* s = &states[5 * i];
        State<double> one{s[0], s[1], s[2], s[3], s[4], z[i]};
        const bool there = propagate(grid, {planes[3 * i], planes[3 * i + 1], planes[3 * i + 2]}, 1e-4, one);
        const double* end = &ends[5 * i];
        expect(there == ok[i], "the same arrive");
        expect(!there || (same(end[0], one.x) && same(end[1], one.y) && same(end[2], one.tx) && same(end[3], one.ty) &&
                          same(end[4], one.qop) && same(end_z[i], one.z)),
               "the same bits");
      }
    }
}

/// Particles of all kinds through all kinds of surfaces.
void particles_through_material() {
  const std::vector<float> nodes(3 * 125, 0.1F);
  const FieldGrid grid = small_grid(nodes, false, true);
  Detector detector;
  detector.add({14.0, 2.329, 0.49848, 93.7, 173e-6, 0.2015, 2.8716, 0.14921, 3.2546, 4.4351});
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
  const Conditions conditions{42, 1e-3, 100.0, 1.0, 0, 0.0, -1};
  std::vector<Particle> particles;
  for (int i = 0; i < 64; ++i) {
    const double p = i % 7 ? 150.0 * i : 1e6;
    const double slope = 0.02 * (i % 60);
    particles.push_back({0, i, i % 2 ? 1.0 : -1.0, i % 3 ? 139.57 : 938.27, 0.0, 0.0, -90.0, p * slope, 0.5 * p * slope,
                         p, i % 5 ? std::numeric_limits<double>::infinity() : 30.0});
  }
  const auto followed = [&](const Conditions& with) {
    std::vector<std::vector<Crossing>> crossings(64);
    for_blocks(64, 16, 3, [&](std::size_t begin, std::size_t end) {
      Walks walks(build_check, grid, detector, with, particles, begin, end);
      build_check.carry(grid, with.tolerance, walks);
      const auto some = walks.take();
      std::copy(some.begin(), some.end(), crossings.begin() + static_cast<std::ptrdiff_t>(begin));
    });
    return crossings;
  };
  std::size_t count = 0;
  const auto all = followed(conditions);
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const Crossing& crossing : all[i]) {
      ++count;
      expect(std::isfinite(crossing.x + crossing.tx + crossing.p) && crossing.p > 0.0, "finite");
      expect(crossing.z <= particles[i].z_end && crossing.particle == particles[i].number, "of a particle that lives");
    }
  expect(count > 300, "crossings");
  Conditions choosy = conditions;
  choosy.fewest_planes = 2;
  choosy.velo_end = -40.0;
  choosy.last_plane = 19;
  const auto some = followed(choosy);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < some.size(); ++i) {
    int early = 0;
    bool through = false;
    for (const Crossing& crossing : all[i]) {
      early += crossing.active && crossing.z <= choosy.velo_end;
      through |= crossing.active && crossing.plane == choosy.last_plane;
    }
    const bool wanted = early >= choosy.fewest_planes && through;
    expect(some[i].size() == (wanted ? all[i].size() : 0), "who is wanted, whole; no one else");
    kept += wanted;
  }
  expect(kept > 5 && kept < 60, "some are wanted");
  particles = {{0, 0, 1.0, 139.57, 0.0, 0.0, 0.0, 0.0, 0.0, -1e4, 1e9}, {0, 1, 0.0, 139.57, 0.0, 0.0, 0.0, 0.0, 0.0, 1e4, 1e9}};
  Walks none(build_check, grid, detector, conditions, particles, 0, 2);
  build_check.carry(grid, conditions.tolerance, none);
  for (const auto& of_one : none.take()) expect(of_one.empty(), "backwards and neutral particles leave nothing");
}

}  // namespace

int main() {
  known_random_numbers();
  functions();
  derivatives();
  edges_of_the_map();
  lanes_agree_with_one();
  particles_through_material();
  return failures;
}
