// Python module parkf._transport: field look-up, Runge-Kutta and the transport of particles through the detector. The
// Python side (parkf.detector, parkf.detector.transport) checks shapes, types and values before it calls.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "bindings/field.hpp"
#include "numbers/instruction_sets.hpp"
#include "threads/parallel.hpp"
#include "transport/particle.hpp"
#include "transport/rows.hpp"

namespace nb = nanobind;

namespace {

namespace transport = parkf::transport;
using transport::FieldGrid;
using Columns = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Column = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using transport::Field;
using transport::Nodes;

constexpr std::size_t block = 64;

Field make_field(Nodes nodes, std::array<double, 3> origin, std::array<double, 3> spacing, double scale, bool cubic,
                 bool zero_outside) {
  FieldGrid grid;
  grid.nodes = nodes.data();
  for (int axis = 0; axis < 3; ++axis) {
    grid.origin[axis] = origin[axis];
    grid.spacing[axis] = spacing[axis];
    grid.size[axis] = static_cast<int>(nodes.shape(axis));
  }
  grid.scale = scale;
  grid.cubic = cubic;
  grid.zero_outside = zero_outside;
  return {nodes, grid};
}

/// A NumPy array that owns its memory.
template <class T>
nb::ndarray<nb::numpy, T> owned(std::unique_ptr<T[]> data, std::initializer_list<std::size_t> shape) {
  T* pointer = data.release();
  return nb::ndarray<nb::numpy, T>(pointer, shape, nb::capsule(pointer, [](void* memory) noexcept {
                                     delete[] static_cast<T*>(memory);
                                   }));
}

nb::tuple look_up(const Field& field, Columns points, int threads) {
  const std::size_t count = points.shape(0);
  auto values = std::make_unique<double[]>(3 * count);
  auto inside = std::make_unique<bool[]>(count);
  const double* point = points.data();
  {
    nb::gil_scoped_release release;
    parkf::for_blocks(count, block, threads, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        transport::Vector3<double> b{};
        inside[i] = transport::field_at(field.grid, point[3 * i], point[3 * i + 1], point[3 * i + 2], b);
        values[3 * i] = b.x;
        values[3 * i + 1] = b.y;
        values[3 * i + 2] = b.z;
      }
    });
  }
  return nb::make_tuple(owned(std::move(values), {count, 3}), owned(std::move(inside), {count}));
}

nb::tuple propagate(const Field& field, Columns states, Column z, Columns planes, double tolerance, int threads,
                    const std::string& build) {
  const std::size_t count = states.shape(0);
  const transport::Build& chosen = parkf::build_named(transport::builds(), build);
  auto ends = std::make_unique<double[]>(5 * count);
  auto end_z = std::make_unique<double[]>(count);
  auto ok = std::make_unique<bool[]>(count);
  {
    nb::gil_scoped_release release;
    parkf::for_blocks(count, block, threads, [&](std::size_t begin, std::size_t end) {
      transport::Rows rows(states.data(), z.data(), planes.data(), ends.get(), end_z.get(), ok.get(), begin, end);
      chosen.carry(field.grid, tolerance, rows);
    });
  }
  return nb::make_tuple(owned(std::move(ends), {count, 5}), owned(std::move(end_z), {count}),
                        owned(std::move(ok), {count}));
}

nb::tuple propagate_with_jacobian(const Field& field, Columns states, Column z, Columns planes, double tolerance,
                                  int threads) {
  using Number = parkf::Dual<5>;
  const std::size_t count = states.shape(0);
  auto ends = std::make_unique<double[]>(5 * count);
  auto end_z = std::make_unique<double[]>(count);
  auto ok = std::make_unique<bool[]>(count);
  auto jacobians = std::make_unique<double[]>(25 * count);
  {
    nb::gil_scoped_release release;
    parkf::for_blocks(count, block, threads, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const double* s = states.data() + 5 * i;
        const double* plane = planes.data() + 3 * i;
        transport::State<Number> state{Number::variable(s[0], 0), Number::variable(s[1], 1), Number::variable(s[2], 2),
                                   Number::variable(s[3], 3), Number::variable(s[4], 4), Number(z.data()[i])};
        ok[i] = transport::propagate(field.grid, {plane[0], plane[1], plane[2]}, tolerance, state);
        const Number result[5] = {state.x, state.y, state.tx, state.ty, state.qop};
        for (std::size_t row = 0; row < 5; ++row) {
          ends[5 * i + row] = result[row].real;
          std::copy(result[row].slope.begin(), result[row].slope.end(), &jacobians[25 * i + 5 * row]);
        }
        end_z[i] = state.z.real;
      }
    });
  }
  return nb::make_tuple(owned(std::move(ends), {count, 5}), owned(std::move(end_z), {count}),
                        owned(std::move(ok), {count}), owned(std::move(jacobians), {count, 5, 5}));
}

nb::dict track_through(const Field& field, const transport::Detector& detector, Numbers event, Numbers number,
                       Columns properties, std::uint64_t seed, double tolerance, double least_momentum, double steepest,
                       int fewest_planes, double velo_end, int last_plane, int threads, const std::string& build) {
  const std::size_t count = event.shape(0);
  const transport::Build& chosen = parkf::build_named(transport::builds(), build);
  const transport::Conditions conditions{seed,          tolerance, least_momentum, steepest,
                                         fewest_planes, velo_end,  last_plane};
  std::vector<transport::Particle> particles(count);
  // Crossings of a block of particles, by the block's first unit of work.
  std::vector<std::vector<std::vector<transport::Crossing>>> blocks((count + block - 1) / block);
  {
    nb::gil_scoped_release release;
    for (std::size_t i = 0; i < count; ++i) {
      const double* row = properties.data() + 9 * i;
      particles[i] = {event.data()[i], number.data()[i], row[0], row[1], row[2], row[3], row[4], row[5], row[6],
                      row[7], row[8]};
    }
    parkf::for_blocks(count, block, threads, [&](std::size_t begin, std::size_t end) {
      transport::Walks walks(chosen, field.grid, detector, conditions, particles, begin, end);
      chosen.carry(field.grid, tolerance, walks);
      blocks[begin / block] = walks.take();
    });
  }
  std::size_t rows = 0;
  for (const auto& of_block : blocks)
    for (const auto& crossings : of_block) rows += crossings.size();
  auto out_event = std::make_unique<std::int32_t[]>(rows), out_particle = std::make_unique<std::int32_t[]>(rows);
  auto plane = std::make_unique<std::int16_t[]>(rows);
  auto active = std::make_unique<bool[]>(rows);
  constexpr std::size_t quantities = 7;
  const char* const names[quantities] = {"z", "x", "y", "tx", "ty", "p", "hardest"};
  std::unique_ptr<double[]> numbers[quantities];
  for (auto& each : numbers) each.reset(new double[rows]);
  std::size_t row = 0;
  for (const auto& of_block : blocks)
    for (const auto& crossings : of_block)
      for (const transport::Crossing& c : crossings) {
        out_event[row] = c.event;
        out_particle[row] = c.particle;
        plane[row] = c.plane;
        active[row] = c.active;
        const double values[quantities] = {c.z, c.x, c.y, c.tx, c.ty, c.p, c.hardest};
        for (std::size_t q = 0; q < quantities; ++q) numbers[q][row] = values[q];
        ++row;
      }
  nb::dict result;
  result["event"] = owned(std::move(out_event), {rows});
  result["particle"] = owned(std::move(out_particle), {rows});
  result["plane"] = owned(std::move(plane), {rows});
  result["active"] = owned(std::move(active), {rows});
  for (std::size_t q = 0; q < quantities; ++q) result[names[q]] = owned(std::move(numbers[q]), {rows});
  return result;
}

}  // namespace

NB_MODULE(_transport, module) {
  module.doc() = "Compiled core of parkf.detector and parkf.detector.transport.";

  nb::class_<Field>(module, "Field")
      .def("__init__",
           [](Field* self, Nodes nodes, std::array<double, 3> origin, std::array<double, 3> spacing, double scale,
              bool cubic, bool zero_outside) {
             new (self) Field(make_field(nodes, origin, spacing, scale, cubic, zero_outside));
           },
           nb::kw_only(), nb::arg("nodes"), nb::arg("origin"), nb::arg("spacing"), nb::arg("scale"), nb::arg("cubic"),
           nb::arg("zero_outside"))
      .def("look_up", &look_up, nb::arg("points"), nb::arg("threads"));

  nb::class_<transport::Material>(module, "Material")
      .def(nb::init<>())
      .def_rw("atomic_number", &transport::Material::atomic_number)
      .def_rw("density", &transport::Material::density)
      .def_rw("z_over_a", &transport::Material::z_over_a)
      .def_rw("radiation_length", &transport::Material::radiation_length)
      .def_rw("excitation", &transport::Material::excitation)
      .def_rw("x0", &transport::Material::x0)
      .def_rw("x1", &transport::Material::x1)
      .def_rw("a", &transport::Material::a)
      .def_rw("k", &transport::Material::k)
      .def_rw("c", &transport::Material::c);

  nb::class_<transport::Detector>(module, "Detector")
      .def(nb::init<>())
      .def("add_material", [](transport::Detector& d, const transport::Material& m) { d.add(m); })
      .def("add_tube",
           [](transport::Detector& d, double radius, double z_min, double z_max, int material, double thickness) {
             d.tubes.push_back({radius, z_min, z_max, material, thickness});
           },
           nb::kw_only(), nb::arg("radius"), nb::arg("z_min"), nb::arg("z_max"), nb::arg("material"),
           nb::arg("thickness"))
      .def("add_surface",
           [](transport::Detector& d, std::array<double, 3> plane, std::array<double, 2> origin, std::array<double, 4> map,
              double shear, const std::vector<std::array<double, 6>>& panels, std::array<double, 2> hole,
              int plane_index, bool only_covered, int material, double thickness) {
             transport::Surface s{};
             s.plane = {plane[0], plane[1], plane[2]};
             s.origin_x = origin[0];
             s.origin_y = origin[1];
             std::copy(map.begin(), map.end(), s.map);
             s.shear = shear;
             for (const auto& p : panels) s.panels.push_back({p[0], p[1], p[2], p[3], p[4], p[5]});
             s.hole_u = hole[0];
             s.hole_v = hole[1];
             s.plane_index = plane_index;
             s.only_covered = only_covered;
             s.material = material;
             s.thickness = thickness;
             s.companion_index = -1;
             d.surfaces.push_back(s);
           },
           nb::kw_only(), nb::arg("plane"), nb::arg("origin"), nb::arg("map"), nb::arg("shear"), nb::arg("panels"),
           nb::arg("hole"), nb::arg("plane_index"), nb::arg("only_covered"), nb::arg("material"), nb::arg("thickness"))
      .def("add_companion",
           [](transport::Detector& d, int index, std::array<double, 3> plane) {
             d.surfaces.back().companion_index = index;
             d.surfaces.back().companion = {plane[0], plane[1], plane[2]};
           },
           nb::arg("index"), nb::arg("plane"), "Record another plane with the state of the surface added last.");

  module.def("propagate", &propagate, nb::arg("field"), nb::arg("states"), nb::arg("z"), nb::arg("planes"),
             nb::arg("tolerance"), nb::arg("threads"), nb::arg("build") = "");
  module.def("propagate_with_jacobian", &propagate_with_jacobian, nb::arg("field"), nb::arg("states"), nb::arg("z"),
             nb::arg("planes"), nb::arg("tolerance"), nb::arg("threads"));
  module.def("track_through", &track_through, nb::arg("field"), nb::arg("detector"), nb::arg("event"),
             nb::arg("particle"), nb::arg("properties"), nb::kw_only(), nb::arg("seed"), nb::arg("tolerance"),
             nb::arg("least_momentum"), nb::arg("steepest"), nb::arg("fewest_planes"), nb::arg("velo_end"),
             nb::arg("last_plane"), nb::arg("threads"), nb::arg("build") = "");
  module.def("builds", [] { return parkf::names_of(transport::builds()); },
             "Names of the builds that this machine can run, the fastest first; all give the same bits.");
  module.def("instruction_sets", [] {
    return std::vector<std::string>(parkf::instruction_sets, parkf::instruction_sets + parkf::instruction_level());
  }, "Names of the instruction sets that this machine has, the slowest first; a checkout has no builds for some.");
}
