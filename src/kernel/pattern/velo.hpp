#pragma once
// VELO segments from hits alone, as the trigger finds them (Allen, search by triplet): hits on a line in three
// neighbouring pairs of modules begin a segment, which then collects one hit in each further pair.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "pattern/event.hpp"

namespace parkf::pattern {

/// Windows of the search. A particle from the beam line keeps its azimuth.
struct VeloWindows {
  int modules;         // planes of the VELO, two a pair
  int fewest;          // hits of a segment
  int slots;           // largest number of hits that are returned
  double beam_x, beam_y;
  double azimuth;      // rad; largest change from one pair to the next
  double displaced;    // mm; divided by the distance to the beam, an additional change of azimuth
  double steepest;     // largest slope
  double kink;         // rad; change of slope at a hit
  double offset;       // mm; additional distance from the line
  double chi2;         // largest χ² of a segment of three hits, with two degrees of freedom
  double error;        // mm; of a hit
};

class VeloSearch {
 public:
  explicit VeloSearch(const VeloWindows& windows) : w(windows), pairs(static_cast<std::size_t>(windows.modules / 2)) {}

  /// Append the segments of an event to `found`, each with its hits in ascending z.
  void run(const Event& event, Rows& found) {
    load(event);
    for (int pair = static_cast<int>(pairs.size()) - 2; pair >= 0; --pair) {
      follow(pair);
      if (pair + 2 < static_cast<int>(pairs.size())) seed(pair);
    }
    for (Segment& segment : open) close(segment);
    open.clear();
    give(found);
  }

 private:
  struct Hit {
    double phi, x, y, z;
    long row;
    bool used;
  };
  struct Place {
    int pair;
    std::size_t hit;
  };
  struct Segment {
    std::vector<Place> places;  // from the last z on
    int missed;
  };
  struct Line {
    double x, y, z, tx, ty;
  };

  static constexpr double pi = 3.14159265358979323846;
  static constexpr int most_missed = 1;  // pairs in a row without a hit
  static constexpr std::size_t sure = 4;  // number of hits from which on no other segment may use the hits of a segment

  VeloWindows w;
  std::vector<std::vector<Hit>> pairs;
  std::vector<Segment> open, closed, weak;

  void load(const Event& event) {
    for (auto& pair : pairs) pair.clear();
    closed.clear();
    weak.clear();
    const Columns& c = *event.columns;
    for (std::size_t row = event.begin; row < event.end && c.plane[row] < w.modules; ++row) {
      const double phi = std::atan2(c.y[row] - w.beam_y, c.x[row] - w.beam_x);
      pairs[static_cast<std::size_t>(c.plane[row] / 2)].push_back(
          {phi, c.x[row], c.y[row], c.z[row], static_cast<long>(row), false});
    }
    for (auto& pair : pairs)
      std::sort(pair.begin(), pair.end(), [](const Hit& a, const Hit& b) {
        return a.phi != b.phi ? a.phi < b.phi : a.row < b.row;
      });
  }

  Hit& at(const Place& place) { return pairs[static_cast<std::size_t>(place.pair)][place.hit]; }

  /// Call `visit(number)` for each hit of a pair within `reach` of an azimuth.
  template <class Visit>
  void around(int pair, double phi, double reach, const Visit& visit) {
    const auto& hits = pairs[static_cast<std::size_t>(pair)];
    const auto range = [&](double low, double high) {
      auto hit = std::lower_bound(hits.begin(), hits.end(), low, [](const Hit& h, double v) { return h.phi < v; });
      for (; hit != hits.end() && hit->phi <= high; ++hit) visit(static_cast<std::size_t>(hit - hits.begin()));
    };
    if (reach >= pi) return range(-4.0, 4.0);
    range(phi - reach, phi + reach);
    if (phi - reach < -pi) range(phi - reach + 2 * pi, 4.0);
    if (phi + reach > pi) range(-4.0, phi + reach - 2 * pi);
  }

  double reach(double x, double y) const {
    return w.azimuth + w.displaced / std::max(std::hypot(x - w.beam_x, y - w.beam_y), w.displaced);
  }

  static Line through(const Hit& a, const Hit& b) {
    const double per_dz = 1.0 / (b.z - a.z);
    return {b.x, b.y, b.z, (b.x - a.x) * per_dz, (b.y - a.y) * per_dz};
  }

  /// Return the square of a hit's distance from a line over the allowed distance.
  double off(const Line& line, const Hit& hit) const {
    const double dz = hit.z - line.z, dx = line.x + line.tx * dz - hit.x, dy = line.y + line.ty * dz - hit.y;
    const double allowed = w.offset + w.kink * std::abs(dz);
    return (dx * dx + dy * dy) / (allowed * allowed);
  }

  /// Add the nearest hit of a pair to each open segment.
  void follow(int pair) {
    const auto& hits = pairs[static_cast<std::size_t>(pair)];
    std::vector<Segment> still;
    for (Segment& segment : open) {
      const std::size_t count = segment.places.size();
      const Line line = through(at(segment.places[count - 2]), at(segment.places[count - 1]));
      double best = 1.0;
      std::size_t taken = hits.size();
      if (!hits.empty()) {
        const double dz = hits.front().z - line.z, x = line.x + line.tx * dz, y = line.y + line.ty * dz;
        around(pair, std::atan2(y - w.beam_y, x - w.beam_x), reach(x, y), [&](std::size_t hit) {
          const double distance = off(line, hits[hit]);
          if (distance < best && !hits[hit].used) best = distance, taken = hit;
        });
      }
      if (taken < hits.size()) {
        segment.places.push_back({pair, taken});
        segment.missed = 0;
        if (segment.places.size() == sure)
          for (const Place& place : segment.places) at(place).used = true;
        else if (segment.places.size() > sure)
          at(segment.places.back()).used = true;
        still.push_back(std::move(segment));
      } else if (++segment.missed > most_missed) {
        close(segment);
      } else {
        still.push_back(std::move(segment));
      }
    }
    open.swap(still);
  }

  /// Begin segments with hits in this pair and in the two pairs behind it.
  void seed(int pair) {
    const auto &first = pairs[static_cast<std::size_t>(pair)], &second = pairs[static_cast<std::size_t>(pair) + 1],
               &third = pairs[static_cast<std::size_t>(pair) + 2];
    if (first.empty() || third.empty()) return;
    for (std::size_t middle = 0; middle < second.size(); ++middle) {
      const Hit& b = second[middle];
      if (b.used) continue;
      double best = 1.0;
      Place last{-1, 0}, next{-1, 0};
      around(pair + 2, b.phi, reach(b.x, b.y), [&](std::size_t far) {
        const Hit& a = third[far];
        if (a.used || a.z <= b.z) return;
        const Line line = through(a, b);
        if (std::abs(line.tx) > w.steepest || std::abs(line.ty) > w.steepest) return;
        const double dz = first.front().z - line.z, x = line.x + line.tx * dz, y = line.y + line.ty * dz;
        around(pair, std::atan2(y - w.beam_y, x - w.beam_x), reach(x, y), [&](std::size_t near) {
          const Hit& c = first[near];
          if (c.used || c.z >= b.z) return;
          const double distance = off(line, c);
          if (distance < best) best = distance, last = {pair + 2, far}, next = {pair, near};
        });
      });
      if (last.pair >= 0) open.push_back({{last, {pair + 1, middle}, next}, 0});
    }
  }

  void close(Segment& segment) {
    (segment.places.size() >= sure ? closed : weak).push_back(std::move(segment));
  }

  /// Return χ² of a straight line through three hits, in x and y together.
  double chi2(const Segment& segment) {
    const Hit &a = at(segment.places[0]), &b = at(segment.places[1]), &c = at(segment.places[2]);
    const double share = (b.z - a.z) / (c.z - a.z);
    const double dx = a.x + share * (c.x - a.x) - b.x, dy = a.y + share * (c.y - a.y) - b.y;
    const double variance = w.error * w.error * (1 + (1 - share) * (1 - share) + share * share);
    return (dx * dx + dy * dy) / variance;
  }

  /// Append all segments that are long enough. A segment of three hits counts only if no other segment uses its hits.
  void give(Rows& found) {
    if (w.fewest < static_cast<int>(sure)) {
      std::vector<std::pair<double, std::size_t>> order;
      for (std::size_t i = 0; i < weak.size(); ++i) {
        const double value = chi2(weak[i]);
        if (value < w.chi2) order.push_back({value, i});
      }
      std::sort(order.begin(), order.end());
      for (const auto& [value, i] : order) {
        bool free = true;
        for (const Place& place : weak[i].places) free &= !at(place).used;
        if (!free) continue;
        for (const Place& place : weak[i].places) at(place).used = true;
        closed.push_back(weak[i]);
      }
    }
    for (const Segment& segment : closed) {
      if (static_cast<int>(segment.places.size()) < w.fewest) continue;
      const std::size_t start = found.size(), slots = static_cast<std::size_t>(w.slots);
      found.resize(start + slots, -1);
      // If there are more hits than slots, keep those nearest to the magnet, which come first in the segment.
      const std::size_t count = std::min(segment.places.size(), slots);
      for (std::size_t i = 0; i < count; ++i) found[start + count - 1 - i] = at(segment.places[i]).row;
    }
  }
};

}  // namespace parkf::pattern
