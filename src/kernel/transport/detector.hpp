#pragma once
// The detector on a particle's way: flat surfaces in the order of z, and thin tubes around the beam.

#include <cmath>
#include <string>
#include <vector>

#include "transport/material.hpp"
#include "transport/runge_kutta.hpp"

namespace parkf::transport {

/// A rectangle in a surface's own coordinates.
struct Panel {
  double centre_u, centre_v, cosine, sine, half_length, half_width;

  template <class T>
  KERNEL_FUNCTION Mask<T> contains(const T& u, const T& v) const {
    const T du = u - centre_u;
    const T dv = v - centre_v;
    return at_most(magnitude(T(cosine * du + sine * dv)), T(half_length)) &
           at_most(magnitude(T(cosine * dv - sine * du)), T(half_width));
  }
};

/// A plane with material and, where `plane_index` is not negative, a state to record.
struct Surface {
  Plane plane;
  // The surface's own coordinates: (u, v) = map (x - x0, y - y0), then sheared along the strips.
  double origin_x, origin_y, map[4];
  double shear;
  std::vector<Panel> panels;  // none: without end
  double hole_u, hole_v;      // half sizes of the opening for the beam pipe
  int plane_index;
  bool only_covered;  // record a state only inside the panels
  int material;
  double thickness;  // mm, at normal incidence; 0: nothing to traverse
  // A second plane within the material of this surface: its state is that of this surface, carried there without
  // scattering.
  int companion_index = -1;
  Plane companion{};

  template <class T>
  KERNEL_FUNCTION Mask<T> covers(const T& x, const T& y) const {
    const T dx = x - origin_x;
    const T dy = y - origin_y;
    const T v = map[2] * dx + map[3] * dy;
    const T u = map[0] * dx + map[1] * dy - shear * v;
    const Mask<T> outside_hole = !((magnitude(u) < T(hole_u)) & (magnitude(v) < T(hole_v)));
    if (panels.empty()) return outside_hole;
    Mask<T> on_panel = u < u;  // on none so far
    for (const Panel& panel : panels) on_panel = on_panel | panel.contains(u, v);
    return outside_hole & on_panel;
  }
};

/// A corrugated wall around the beam, between two z. Its parts face along the beam as often as away from it, so that a
/// particle meets the same thickness at any angle.
struct Tube {
  double radius, z_min, z_max;
  int material;
  double thickness;  // mm, along z
};

struct Detector {
  std::vector<Material> materials;
  std::vector<ScatteringShape> shapes;  // of the materials
  std::vector<Surface> surfaces;  // ascending z
  std::vector<Tube> tubes;

  void add(const Material& material) {
    materials.push_back(material);
    shapes.push_back(scattering_shape(material));
  }
};

}  // namespace parkf::transport
