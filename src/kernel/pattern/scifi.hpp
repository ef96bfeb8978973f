#pragma once
// SciFi segments from hits alone, as the trigger's seeding finds them (Allen, seed_xz and seed_confirmTracks). Hits in
// three x layers, one in each station, form a curve that a particle from the beam may have. Hits of the other x layers
// near the curve are added, then stereo hits where the curve crosses fibres on a straight line in y.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "pattern/event.hpp"

namespace parkf::pattern {

constexpr int scifi_layers = 12;

/// Windows of the search. The curve is x(z) = a + b u + c u² (1 + r u), u = z - z_reference.
struct SciFiWindows {
  int first_plane;      // of the first layer
  int fewest, fewest_x, fewest_stereo;  // layers
  double z_reference;
  double cubic_ratio;   // r
  double curvature;     // c divided by the x where the chord of the first and last station meets z = 0
  double farthest;      // mm; largest |x| of that point, for the softest particle
  double middle, middle_share;  // mm, and per mm of that |x|: largest distance from the curve in the second station
  double window;        // mm; a hit may lie this far from its curve
  double focusing;      // 1/mm²; y of the line at z = 0, divided by y at z_reference and by the chord's x² at z = 0
  double y_origin, y_origin_share;  // mm, and per mm of that |x|: largest distance from that y
  double half_height;   // mm; of a layer
  double chi2_x, chi2;  // largest χ² per degree of freedom: of the curve, and of curve and line
  double error;         // mm; of a hit
  int shared;           // hits that a segment may have in common with a better one
};

/// A curve x(z) through hits of x layers.
struct Curve {
  double a, b, c;
};

class SciFiSearch {
 public:
  explicit SciFiSearch(const SciFiWindows& windows) : w(windows) {}

  /// Append the segments of an event to `found`, a hit or -1 for each layer.
  void run(const Event& event, Rows& found) {
    for (const bool upper : {false, true}) {
      load(event, upper);
      candidates.clear();
      // Many segments of few hits belong to no particle, so they may only use hits that other segments have left.
      for (int fewest = static_cast<int>(x_layers.size()); fewest >= w.fewest_x; --fewest) {
        for (const auto& start : starts) {
          search(start, fewest);
          accept(sure, found);
          if (fewest == static_cast<int>(x_layers.size())) break;  // all layers: any start will do
        }
        if (fewest <= enough_x) accept(0, found);
      }
    }
  }

 private:
  struct Hit {
    double x, z, dxdy, bent;  // bent: the factor of c in the curve at this z
    long row;
    bool used;
  };
  struct Start {
    int first, middle, last;
  };
  struct Candidate {
    double origin;  // x of the chord at z = 0
    std::array<int, scifi_layers> hits;  // number in the layer, -1 for none
    Curve curve;
    int count;
    double chi2;  // per degree of freedom
  };
  struct Crossing {
    double y, z;
    int hit;
  };

  static constexpr std::array<int, 6> x_layers{0, 3, 4, 7, 8, 11}, stereo_layers{1, 2, 5, 6, 9, 10};
  // If a track lacks a hit in one of these starts, another start finds it.
  static constexpr std::array<Start, 6> starts{{{0, 4, 11}, {3, 7, 8}, {0, 7, 11}, {3, 4, 8}, {0, 7, 8}, {3, 4, 11}}};
  static constexpr double first_bin = -3300.0, bin_width = 8.0;  // mm
  static constexpr std::size_t bins = 826;
  static constexpr int sure = 11;        // layers of a segment that does not have to wait for others
  static constexpr int enough_x = 5;     // x layers of a segment that does not have to wait for segments with more
  static constexpr double below = 15.0;  // mm; y of a crossing may lie this far outside the layer's half

  SciFiWindows w;
  double side = 1.0;
  std::array<std::vector<Hit>, scifi_layers> layers;
  std::array<double, scifi_layers> z{};
  std::array<std::array<std::size_t, bins>, scifi_layers> begin{};  // number of the first hit from each bin's x on
  std::vector<Candidate> candidates, waiting;

  void load(const Event& event, bool upper) {
    for (auto& layer : layers) layer.clear();
    side = upper ? 1.0 : -1.0;
    const Columns& c = *event.columns;
    for (std::size_t row = event.begin; row < event.end; ++row) {
      const int layer = c.plane[row] - w.first_plane;
      if (layer < 0 || layer >= scifi_layers || (c.y[row] > 0) != upper) continue;
      layers[static_cast<std::size_t>(layer)].push_back({c.x[row], c.z[row], c.dxdy[row], bent(c.z[row]), static_cast<long>(row), false});
    }
    for (std::size_t i = 0; i < layers.size(); ++i) {
      auto& layer = layers[i];
      std::sort(layer.begin(), layer.end(),
                [](const Hit& a, const Hit& b) { return a.x != b.x ? a.x < b.x : a.row < b.row; });
      double sum = 0;
      for (const Hit& hit : layer) sum += hit.z;
      z[i] = layer.empty() ? 0.0 : sum / static_cast<double>(layer.size());
      std::size_t next = 0;
      for (std::size_t bin = 0; bin < bins; ++bin) {
        while (next < layer.size() && layer[next].x < first_bin + bin_width * static_cast<double>(bin)) ++next;
        begin[i][bin] = next;
      }
    }
  }

  const std::vector<Hit>& of(int layer) const { return layers[static_cast<std::size_t>(layer)]; }
  std::vector<Hit>& of(int layer) { return layers[static_cast<std::size_t>(layer)]; }

  /// Number of the first hit of a layer from x on.
  std::size_t from(int number, double x) const {
    const auto& layer = of(number);
    const double place = std::min(std::max((x - first_bin) / bin_width, 0.0), static_cast<double>(bins - 1));
    std::size_t next = begin[static_cast<std::size_t>(number)][static_cast<std::size_t>(place)];
    if (x < first_bin) next = 0;
    while (next < layer.size() && layer[next].x < x) ++next;
    return next;
  }

  double bent(double at) const {
    const double u = at - w.z_reference;
    return u * u * (1 + w.cubic_ratio * u);
  }

  double x_of(const Curve& curve, double at) const {
    return curve.a + curve.b * (at - w.z_reference) + curve.c * bent(at);
  }

  /// Slope of a curve, for the small steps in z between a layer's hits.
  double slope_of(const Curve& curve, double at) const {
    const double u = at - w.z_reference;
    return curve.b + curve.c * u * (2 + 3 * w.cubic_ratio * u);
  }

  void search(const Start& start, int fewest) {
    const auto &first = of(start.first), &middle = of(start.middle), &last = of(start.last);
    if (first.empty() || middle.empty() || last.empty()) return;
    const double z1 = z[static_cast<std::size_t>(start.first)], z3 = z[static_cast<std::size_t>(start.last)];
    for (std::size_t i = 0; i < first.size(); ++i) {
      const Hit& a = first[i];
      if (a.used) continue;
      // x of the chord at z = 0 is within ±farthest.
      const double centre = a.x * z3 / z1, widest = w.farthest * (z3 - z1) / z1;
      for (std::size_t k = from(start.last, centre - widest); k < last.size() && last[k].x <= centre + widest; ++k) {
        const Hit& b = last[k];
        if (!b.used) join(start, fewest, i, k, a, b);
      }
    }
  }

  /// Try the hits of the middle station that fit the hits of the other two stations.
  void join(const Start& start, int fewest, std::size_t i, std::size_t k, const Hit& a, const Hit& b) {
    const double slope = (b.x - a.x) / (b.z - a.z), origin = a.x - slope * a.z;
    const double z2 = z[static_cast<std::size_t>(start.middle)];
    // The sag is the distance of the curve from the chord, for c = 1.
    const double share = (z2 - a.z) / (b.z - a.z), sag = bent(z2) - (1 - share) * a.bent - share * b.bent;
    const double expected = a.x + slope * (z2 - a.z) + w.curvature * origin * sag;
    const double reach = w.middle + w.middle_share * std::abs(origin);
    const auto& middle = of(start.middle);
    for (std::size_t j = from(start.middle, expected - reach); j < middle.size() && middle[j].x <= expected + reach; ++j) {
      const Hit& m = middle[j];
      if (m.used) continue;
      Candidate one;
      one.origin = origin;
      one.hits.fill(-1);
      const double part = (m.z - a.z) / (b.z - a.z);
      const double c = (m.x - a.x - part * (b.x - a.x)) / (m.bent - (1 - part) * a.bent - part * b.bent);
      const double tx = (b.x - a.x - c * (b.bent - a.bent)) / (b.z - a.z);
      one.curve = {a.x - tx * (a.z - w.z_reference) - c * a.bent, tx, c};
      one.hits[static_cast<std::size_t>(start.first)] = static_cast<int>(i);
      one.hits[static_cast<std::size_t>(start.middle)] = static_cast<int>(j);
      one.hits[static_cast<std::size_t>(start.last)] = static_cast<int>(k);
      one.count = 3;
      int left = 3;
      for (const int layer : x_layers) {
        if (one.hits[static_cast<std::size_t>(layer)] >= 0) continue;
        const int hit = nearest(layer, one.curve);
        one.hits[static_cast<std::size_t>(layer)] = hit;
        one.count += hit >= 0;
        // Too many layers have no hit.
        if (one.count + --left < fewest) break;
      }
      if (one.count < fewest) continue;
      if (fit(one) > w.chi2_x) continue;
      if (cross(one)) candidates.push_back(one);
    }
  }

  /// The nearest hit of an x layer within the window, or -1.
  int nearest(int layer, const Curve& curve) const {
    const auto& hits = of(layer);
    const double at = z[static_cast<std::size_t>(layer)], x = x_of(curve, at), slope = slope_of(curve, at);
    double best = w.window;
    int taken = -1;
    for (std::size_t k = from(layer, x - w.window); k < hits.size() && hits[k].x <= x + w.window; ++k) {
      const double distance = std::abs(hits[k].x - x - slope * (hits[k].z - at));
      if (distance < best && !hits[k].used) best = distance, taken = static_cast<int>(k);
    }
    return taken;
  }

  /// Fit the x hits by least squares. Return χ² per degree of freedom, or 0 without degrees of freedom.
  double fit(Candidate& one) const {
    double s[3][4] = {};
    for (const int layer : x_layers) {
      const int number = one.hits[static_cast<std::size_t>(layer)];
      if (number < 0) continue;
      const Hit& hit = of(layer)[static_cast<std::size_t>(number)];
      const double u = (hit.z - w.z_reference) * scale;
      const double term[3] = {1.0, u, hit.bent * scale * scale};
      for (int row = 0; row < 3; ++row) {
        for (int column = 0; column < 3; ++column) s[row][column] += term[row] * term[column];
        s[row][3] += term[row] * hit.x;
      }
    }
    for (int pivot = 0; pivot < 3; ++pivot)
      for (int row = 0; row < 3; ++row) {
        if (row == pivot) continue;
        const double factor = s[row][pivot] / s[pivot][pivot];
        for (int column = pivot; column < 4; ++column) s[row][column] -= factor * s[pivot][column];
      }
    one.curve = {s[0][3] / s[0][0], s[1][3] / s[1][1] * scale, s[2][3] / s[2][2] * scale * scale};
    double sum = 0;
    for (const int layer : x_layers) {
      const int number = one.hits[static_cast<std::size_t>(layer)];
      if (number < 0) continue;
      const Hit& hit = of(layer)[static_cast<std::size_t>(number)];
      const double off = (hit.x - x_of(one.curve, hit.z)) / w.error;
      sum += off * off;
    }
    one.chi2 = sum;
    return one.count > 3 ? sum / (one.count - 3) : 0.0;
  }

  /// Collect the stereo hits that lie best on a line in y, and return whether there are enough.
  bool cross(Candidate& one) const {
    static thread_local std::array<std::vector<Crossing>, stereo_layers.size()> crossings;
    int seen = 0;
    for (std::size_t s = 0; s < stereo_layers.size(); ++s) {
      crossings[s].clear();
      const int layer = stereo_layers[s];
      const auto& hits = of(layer);
      if (hits.empty()) continue;
      const double at = z[static_cast<std::size_t>(layer)], x = x_of(one.curve, at), slope = slope_of(one.curve, at);
      const double dxdy = hits.front().dxdy;
      const double one_end = x + side * below * dxdy, other_end = x - side * w.half_height * dxdy;
      const double low = std::min(one_end, other_end), high = std::max(one_end, other_end);
      for (std::size_t k = from(layer, low); k < hits.size() && hits[k].x <= high; ++k) {
        if (hits[k].used) continue;
        crossings[s].push_back({(x + slope * (hits[k].z - at) - hits[k].x) / hits[k].dxdy, hits[k].z, static_cast<int>(k)});
      }
      const bool descends = dxdy > 0;
      if (descends) std::reverse(crossings[s].begin(), crossings[s].end());
      seen += !crossings[s].empty();
    }
    const int needed = std::max(w.fewest_stereo, w.fewest - one.count);
    if (seen < needed) return false;
    int most = needed - 1, enough = needed;
    double least = 0;
    std::array<int, stereo_layers.size()> taken{};
    // The line in y points back to the beam, except for the magnet's focusing.
    const double focused = w.focusing * one.origin * one.origin, per_z = (1 - focused) / w.z_reference;
    const double tolerance = w.y_origin + w.y_origin_share * std::abs(one.origin);
    for (const std::size_t first : {0, 1})
      for (const std::size_t last : {5, 4})
        for (const Crossing& a : crossings[first]) {
          if (crossings[last].empty()) continue;
          const double z_last = crossings[last].front().z;
          const double centre = a.y * (focused + per_z * z_last) / (focused + per_z * a.z);
          const double reach = tolerance * (z_last - a.z) / a.z;
          for (std::size_t k = at_y(crossings[last], centre - reach);
               k < crossings[last].size() && crossings[last][k].y <= centre + reach; ++k) {
            const Crossing& b = crossings[last][k];
            const double slope = (b.y - a.y) / (b.z - a.z);
            std::array<int, stereo_layers.size()> hits;
            int count = 0, left = static_cast<int>(stereo_layers.size());
            std::array<double, stereo_layers.size()> y{}, at{};
            for (std::size_t s = 0; s < stereo_layers.size() && count + left >= enough; ++s, --left) {
              hits[s] = -1;
              const Crossing* best = nullptr;
              if (s == first) best = &a;
              else if (s == last) best = &b;
              else if (!crossings[s].empty()) {
                const double expected = a.y + slope * (crossings[s].front().z - a.z);
                const double near = w.window / std::abs(of(stereo_layers[s]).front().dxdy);
                double closest = near;
                for (std::size_t n = at_y(crossings[s], expected - near);
                     n < crossings[s].size() && crossings[s][n].y <= expected + near; ++n) {
                  const double distance = std::abs(crossings[s][n].y - a.y - slope * (crossings[s][n].z - a.z));
                  if (distance < closest) closest = distance, best = &crossings[s][n];
                }
              }
              if (best == nullptr) continue;
              hits[s] = best->hit;
              y[static_cast<std::size_t>(count)] = best->y;
              at[static_cast<std::size_t>(count++)] = best->z;
            }
            if (count < enough) continue;
            const double value = line_chi2(y, at, count);
            if (count == most && value >= least) continue;
            most = enough = count;
            least = value;
            taken = hits;
          }
        }
    if (most < needed) return false;
    for (std::size_t s = 0; s < stereo_layers.size(); ++s)
      one.hits[static_cast<std::size_t>(stereo_layers[s])] = taken[s];
    one.chi2 = (one.chi2 + least) / (one.count + most - 5);
    one.count += most;
    return one.chi2 < w.chi2;
  }

  static std::size_t at_y(const std::vector<Crossing>& layer, double y) {
    return static_cast<std::size_t>(
        std::lower_bound(layer.begin(), layer.end(), y, [](const Crossing& h, double v) { return h.y < v; }) -
        layer.begin());
  }

  /// Return χ² of a straight line in y, with errors from those across the fibres.
  double line_chi2(const std::array<double, stereo_layers.size()>& y, const std::array<double, stereo_layers.size()>& at,
                   int count) const {
    double n = 0, s_z = 0, s_y = 0;
    for (int i = 0; i < count; ++i) {
      n += 1;
      s_z += at[static_cast<std::size_t>(i)];
      s_y += y[static_cast<std::size_t>(i)];
    }
    const double z_mean = s_z / n, y_mean = s_y / n;
    double zz = 0, zy = 0;
    for (int i = 0; i < count; ++i) {
      const double dz = at[static_cast<std::size_t>(i)] - z_mean;
      zz += dz * dz;
      zy += dz * (y[static_cast<std::size_t>(i)] - y_mean);
    }
    const double slope = zy / zz, error = w.error / std::abs(of(stereo_layers[0]).empty() ? stereo : of(stereo_layers[0]).front().dxdy);
    double sum = 0;
    for (int i = 0; i < count; ++i) {
      const double off =
          (y[static_cast<std::size_t>(i)] - y_mean - slope * (at[static_cast<std::size_t>(i)] - z_mean)) / error;
      sum += off * off;
    }
    return sum;
  }

  /// Keep candidates with at least `fewest` hits, the best first, if they share few hits with better ones; candidates
  /// with fewer hits wait. Later searches do not use the hits of kept candidates.
  void accept(int fewest, Rows& found) {
    std::vector<std::size_t> order(candidates.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      const Candidate &one = candidates[a], &other = candidates[b];
      if (one.count != other.count) return one.count > other.count;
      return one.chi2 != other.chi2 ? one.chi2 < other.chi2 : a < b;
    });
    waiting.clear();
    for (const std::size_t number : order) {
      const Candidate& one = candidates[number];
      if (one.count < fewest) {
        waiting.push_back(one);
        continue;
      }
      int common = 0;
      for (int layer = 0; layer < scifi_layers; ++layer) {
        const int hit = one.hits[static_cast<std::size_t>(layer)];
        common += hit >= 0 && of(layer)[static_cast<std::size_t>(hit)].used;
      }
      if (common > w.shared) continue;
      for (int layer = 0; layer < scifi_layers; ++layer) {
        const int hit = one.hits[static_cast<std::size_t>(layer)];
        if (hit >= 0) of(layer)[static_cast<std::size_t>(hit)].used = true;
        found.push_back(hit >= 0 ? of(layer)[static_cast<std::size_t>(hit)].row : -1);
      }
    }
    candidates.swap(waiting);
  }

  static constexpr double scale = 1e-3;    // of z, to keep the sums alike
  static constexpr double stereo = 0.087;  // dx/dy where no hit measures it
};

}  // namespace parkf::pattern
