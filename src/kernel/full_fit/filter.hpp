#pragma once
// The full fit: Runge-Kutta through the field, every layer of material, energy loss, smoothing.
//
// A forward filter finds q/p and the trajectory. It runs once more, linearised about that trajectory, for the χ² and the
// errors, unless nobody needs these. A backward filter starts again behind the last layer. When it has passed the first
// layer, it has used all hits, so its state there is the smoothed one. For tracks without VELO hits, a backward filter
// runs between both forward ones, too: only a smoothed state is a good point to linearise about.

#include "fit/kind.hpp"
#include "full_fit/estimate.hpp"
#include "full_fit/tracks.hpp"

namespace parkf::full_fit {

constexpr double pion = 139.57039;    // MeV; every track is fitted as one
constexpr double tolerance = 1e-3;    // mm; of a Runge-Kutta step
constexpr double seed_width = 0.3;    // relative, of the first q/p: as wide as in the parameterised fit
constexpr double start_width[4] = {10.0, 10.0, 0.3, 0.3};  // mm and rad; far wider than two VELO hits determine
// Of tracks without VELO hits: larger than the detector, but the line comes from z = 0 within the error of its slope.
constexpr double start_width_behind[4] = {300.0, 1500.0, 0.5, 0.1};
constexpr double unknown_qop = 2e-3;  // 1/MeV; where no pattern recognition knows q/p
constexpr double forget = 1e4;        // factor on the forward filter's covariance at the start of the backward filter
// The errors that the first filter assumes for its own result: a relative error of q/p, and an error of directions in
// radians divided by q/p in 1/MeV.
constexpr double seed_error = 0.005, seed_angle = 5.0;

// A core that is fitted within two of its widths includes rare shifts up to some number of errors; larger shifts are
// tails. For shifts T that are as frequent as 1/T^2 this number is 1.8: cut there, they move mean and width of the core
// as much as without a cut.
constexpr double energy_cut = 1.8;
// The same number for space angles T, which are as frequent as 1/T^3. With this cut, sums of 16 to 64 scatterings, each
// in its layer, have the same core as without it (tests/fit/test_full_cuts.py).
constexpr double angle_cut = 1.9;
// The direction at the beam line is scattered in few layers, the foil and the first modules. Sums of 2 to 4 scatterings
// need 2.4, and these layers double the variance that the direction has at the other end of the VELO.
constexpr double velo_cut = 2.4 * 1.4142135623730951;

/// Tracks at their closest approach to the beam line, or at their first layer behind the VELO.
template <class T>
struct Fitted {
  Estimate<T> estimate;
  Mask<T> alive;  // the other tracks were abandoned
  T chi2[parts], hits[parts];
};

template <class T>
class Filter {
 public:
  KERNEL_FUNCTION Filter(const transport::FieldGrid& grid, const Tracks<T>& tracks, const kalman::Kind& kind, bool errors)
      : grid_(grid), way_(tracks.way), tracks_(tracks), kind_(kind), errors_(errors), turn_(-tracks.polarity.load()),
        seed_(tracks.qop.load()) {
    const int layers = static_cast<int>(way_.layers.size());
    begin_ = kind.velo ? 0 : tracks.velo_count + first_of(kind.ut ? Part::ut : Part::scifi);
    end_ = tracks.velo_count + (kind.scifi ? layers : first_of(Part::ut) + ut_layers);
    for (int i = 0; i < 3; ++i) first_[i] = kind.velo ? tracks.first[i].load() : T(0.0);
    alive_ = finite(seed_) & !(seed_ == T(0.0));
    T dz(1.0);
    if (kind.velo) {
      dz = tracks.last[2].load() - first_[2];
      alive_ = alive_ & (tracks.velo_n.load() > T(1.0)) & (dz > T(0.0));
    }
    for (int i = 0; i < 2; ++i) {
      slopes_[i] = select(alive_, kind.velo ? T((tracks.last[i].load() - first_[i]) / dz) : T(0.0), T(0.0));
    }
    if (!kind.velo) line_from_origin();
    for (T& coordinate : first_) coordinate = select(alive_, coordinate, T(0.0));
    reference_ = select(alive_, seed_, T(1.0));
    loss_ = T(0.0);
    error_ = T(seed_error);
    in_velo_ = behind_ = T(seed_angle * magnitude(reference_));
  }

  KERNEL_FUNCTION Fitted<T> run() {
    // The passes are one loop, so that there is only one copy of the long code of the filter.
    constexpr bool forward[2][4] = {{true, false, true, false}, {true, true, false, false}};
    for (int pass = 0; pass < (kind_.velo ? 3 : 4); ++pass) {
      if (kind_.velo && !errors_ && pass == 1) continue;
      const bool downstream = forward[kind_.velo][pass];
      if (downstream) {
        begin_forward(pass == 0);
      } else {
        begin_backward();
      }
      last_ = pass == 3;
      for (int i = begin_; i < end_; ++i) {
        if (downstream && i == tracks_.velo_count) learn_of_velo();
        visit(downstream ? i : begin_ + end_ - 1 - i, downstream);
      }
      if (downstream) learn_of_bend();
    }
    if (kind_.velo) to_beamline();
    result_.alive = alive_;
    return result_;
  }

 private:
  /// Number of the first layer of a part.
  KERNEL_FUNCTION int first_of(Part part) const {
    int number = 0;
    while (way_.layers[static_cast<std::size_t>(number)].part != part) ++number;
    return number;
  }

  /// Begin at the first layer, on the line from z = 0 through the first hit, at y = 0.
  KERNEL_FUNCTION void line_from_origin() {
    T x(0.0), z(1.0);
    Mask<T> found = x > z;
    for (int i = end_ - 1; i >= begin_; --i) {
      const Layer& layer = way_.layers[static_cast<std::size_t>(i - tracks_.velo_count)];
      if (layer.part == Part::none) continue;
      const Hits<T> hits = tracks_.strip_hits(layer);
      x = select(hits.measured, hits.x, x);
      z = select(hits.measured, hits.z0, z);
      found = found | hits.measured;
      first_[2] = hits.z0;
    }
    slopes_[0] = x / z;
    first_[0] = slopes_[0] * first_[2];
    alive_ = alive_ & found & finite(T(slopes_[0] + first_[2]));
  }

  /// Start at the first hit with hardly any knowledge, except the q/p, and without VELO hits the state, that earlier
  /// filters found.
  KERNEL_FUNCTION void begin_forward(bool first) {
    auto& e = result_.estimate;
    if (first || kind_.velo) {
      if (!first) {
        T derivative;
        reference_ = changed_energy(select(alive_, e.state[QOP], T(1.0)), T(-loss_), pion, derivative);
      }
      e.state[X] = first_[0];
      e.state[Y] = first_[1];
      e.state[TX] = slopes_[0];
      e.state[TY] = slopes_[1];
      e.state[QOP] = reference_;
      e.z = first_[2];
      e.dzdx = e.dzdy = 0.0;
    } else {
      reference_ = select(alive_, e.state[QOP], T(1.0));
      slopes_[0] = e.state[TX];
      slopes_[1] = e.state[TY];
    }
    const double(&width)[4] = kind_.velo ? start_width : start_width_behind;
    for (T& element : e.covariance) element = T(0.0);
    for (int i = 0; i < 4; ++i) e.c(i, i) = T(width[i] * width[i]);
    if (first && !kind_.velo) {
      e.c(TY, Y) = e.c(Y, Y) / first_[2];
      e.c(TY, TY) += e.c(TY, Y) / first_[2];
    }
    e.c(QOP, QOP) = kind_.velo && kind_.scifi ? (seed_width * seed_) * (seed_width * seed_)
                                              : T(unknown_qop * unknown_qop);
    loss_ = T(0.0);
    for (int part = 0; part < parts; ++part) result_.chi2[part] = result_.hits[part] = T(0.0);
  }

  KERNEL_FUNCTION void begin_backward() {
    reference_ = result_.estimate.state[QOP];
    for (T& element : result_.estimate.covariance) element = element * forget;
  }

  /// Store how well the hits of the VELO determine the direction; called behind the VELO.
  KERNEL_FUNCTION void learn_of_velo() {
    const auto& e = result_.estimate;
    in_velo_ = root(T(0.5 * (e.c(TX, TX) + e.c(TY, TY))));
  }

  /// Store how well all hits determine q/p, and thus the angle of the bend; called behind the last layer.
  KERNEL_FUNCTION void learn_of_bend() {
    const auto& e = result_.estimate;
    error_ = root(e.c(QOP, QOP)) / magnitude(e.state[QOP]);
    behind_ = error_ * magnitude(T(e.state[TX] - slopes_[0]));
  }

  /// Go to a layer and through half of it, filter its hit, and go through the other half.
  KERNEL_FUNCTION void visit(int number, bool forward) {
    const int behind_velo = number - tracks_.velo_count;
    const bool pixels = behind_velo < 0;
    const Layer layer = pixels ? Layer{way_.velo.front(), Part::velo, number}
                               : way_.layers[static_cast<std::size_t>(behind_velo)];
    const Hits<T> hits = pixels ? tracks_.velo_hits(number) : tracks_.strip_hits(layer);
    // The fit assumes that pixel modules are upright, so that tracks cross them at the z of their hits.
    const transport::Plane& surface = layer.surface->plane;
    const transport::Planes<T> plane{hits.z0, pixels ? 0.0 : surface.dzdx, pixels ? 0.0 : surface.dzdy};
    move(plane, hits.present);
    const Mask<T> here = hits.present & alive_;
    traverse_half(*layer.surface, plane, pixels, here, forward);
    if (layer.part != Part::none) {
      const int part = static_cast<int>(layer.part);
      const Mask<T> measured = hits.measured & here;
      T chi2 = result_.estimate.measure_x(hits.x, hits.dxdy, hits.variance, measured);
      if (pixels) chi2 += result_.estimate.measure_y(hits.y, hits.variance, measured);
      if (forward) {
        result_.chi2[part] += chi2;
        result_.hits[part] += select(hits.measured, T(pixels ? 2.0 : 1.0), T(0.0));
      }
    }
    // The published state of a track without VELO hits is in the middle of its first layer.
    if (!(last_ && number == begin_)) traverse_half(*layer.surface, plane, pixels, here, forward);
  }

  /// Propagate states and covariances. Tracks that do not arrive are abandoned.
  KERNEL_FUNCTION void move(const transport::Planes<T>& plane, const Mask<T>& where) {
    const Mask<T> going = where & alive_;
    if (!any(going)) return;
    auto& e = result_.estimate;
    T at[5];
    e.expected(reference_, at);
    transport::State<T> state{at[X], at[Y], at[TX], at[TY], at[QOP], e.z};
    transport::Jacobian<T> jacobian;
    const Mask<T> arrived =
        transport::propagate_with_jacobian(grid_, turn_, plane, tolerance, going, state, jacobian);
    alive_ = alive_ & (arrived | !going);
    e.carry(at, state, jacobian, arrived);
    e.dzdx = plane.dzdx;
    e.dzdy = plane.dzdy;
  }

  /// Scatter in half of a layer, and lose energy there, or gain it in a backward pass.
  KERNEL_FUNCTION void traverse_half(const transport::Surface& surface, const transport::Planes<T>& plane,
                                     bool pixels, const Mask<T>& here, bool forward) {
    if (!(surface.thickness > 0.0)) return;
    T at[5];
    result_.estimate.expected(reference_, at);
    const Mask<T> thick = pixels ? here : here & surface.covers(at[X], at[Y]);
    if (!any(thick)) return;
    const T& tx = at[TX];
    const T& ty = at[TY];
    const T normal = root(T((1.0 + tx * tx + ty * ty) * (1.0 + plane.dzdx * plane.dzdx + plane.dzdy * plane.dzdy)));
    const T path = surface.thickness * normal / magnitude(T(1.0 - plane.dzdx * tx - plane.dzdy * ty));
    traverse(surface.material, path, 0.5, pixels ? T(velo_cut * in_velo_) : T(angle_cut * behind_), thick, forward);
  }

  /// Scatter and change the energy in a fraction `share` of a path through material.
  ///
  /// Scatterings beyond the angle `hard`, and equally large losses, are tails and not noise. Both widths and the mean
  /// loss leave them out.
  KERNEL_FUNCTION void traverse(int number, const T& path, double share, const T& hard, const Mask<T>& where,
                                bool forward) {
    const transport::Material& material = way_.detector->materials[static_cast<std::size_t>(number)];
    const transport::ScatteringShape& shape = way_.detector->shapes[static_cast<std::size_t>(number)];
    const T momentum = 1.0 / magnitude(reference_);
    const transport::Kinematics<T> kinematics(momentum, pion);
    const T whole = path / material.radiation_length / kinematics.beta2, log_whole = logarithm(whole);
    const T core = transport::highland(T(share * whole), log_whole, momentum);
    const T wider = transport::variance_below(shape, T(log_whole + logarithm(share)), T(hard / core));
    result_.estimate.scatter(select(where, T(core * root(wider)), T(0.0)));
    const T cut = energy_cut * error_ * momentum * root(kinematics.beta2);
    T mean, variance;
    transport::restricted_loss(material, T(share * path), kinematics, cut, mean, variance);
    const T loss = select(where, forward ? mean : -mean, T(0.0));
    T derivative;
    const T changed = select(where, changed_energy(reference_, loss, pion, derivative), reference_);
    result_.estimate.change_qop(reference_, changed, derivative, where);
    // d(q/p) = -(q/p) E/p^2 dE
    const T square = changed * changed;
    result_.estimate.c(QOP, QOP) += select(where, T(square * square / kinematics.beta2 * variance), T(0.0));
    reference_ = changed;
    loss_ += loss;
  }

  /// Go from the first hit through the walls around the beam to the closest approach to the beam line.
  KERNEL_FUNCTION void to_beamline() {
    auto& e = result_.estimate;
    const T &x = e.state[X], &y = e.state[Y], &tx = e.state[TX], &ty = e.state[TY];
    for (const transport::Tube& tube : way_.detector->tubes) {
      const T slope2 = tx * tx + ty * ty;
      const T along = (x * tx + y * ty) / slope2;
      const T rest = (x * x + y * y - tube.radius * tube.radius) / slope2;
      // The point where the track left the tube, which lies behind us.
      const T z = e.z - along + root(T(along * along - rest));
      Mask<T> crossed = alive_ & (z < e.z) & (z > T(tube.z_min)) & (z < T(tube.z_max));
      move({select(crossed, z, T(0.0)), 0.0, 0.0}, crossed);
      crossed = crossed & alive_;
      if (!any(crossed)) continue;
      const T path = tube.thickness * root(T(1.0 + tx * tx + ty * ty));
      traverse(tube.material, path, 1.0, T(velo_cut * in_velo_), crossed, false);
    }
    const T dz = ((way_.beam_x - x) * tx + (way_.beam_y - y) * ty) / (tx * tx + ty * ty);
    alive_ = alive_ & finite(dz);
    move({select(alive_, T(e.z + dz), T(0.0)), 0.0, 0.0}, alive_);
  }

  const transport::FieldGrid& grid_;
  const Way& way_;
  const Tracks<T>& tracks_;
  const kalman::Kind& kind_;
  const bool errors_;
  int begin_, end_;    // numbers of visits
  bool last_ = false;  // pass of a track without VELO hits
  const T turn_, seed_;   // sign of the field map; q/p of the pattern recognition
  T first_[3], slopes_[2];  // the first VELO hit, and the line from there to the last
  T reference_;             // the local q/p about which everything is linearised
  T loss_;                  // of energy so far, MeV
  // Errors from the filter before: the relative error of q/p, and errors of directions in the VELO and behind it.
  T error_, in_velo_, behind_;
  Mask<T> alive_;
  Fitted<T> result_;
};

}  // namespace parkf::full_fit
