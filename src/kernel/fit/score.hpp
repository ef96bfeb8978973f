#pragma once
// The ghost score: how genuine a track looks. One score uses the fit of the track: parts of χ² along the track, and the
// numbers of hits. The other score also uses momentum and direction. These depend on the kinds of ghosts in the sample
// rather than on the quality of this fit.

#include "fit/score_layout.hpp"
#include "fit/smoother.hpp"

namespace parkf::kalman::PARKF_FORMS {

/// The smoother's memory that keeps the χ² of the hits so far. The filter passes χ² as an argument. If this memory read
/// it from the filter, the filter would have to lie in memory instead of registers, and the fit would take a twentieth
/// longer.
template <class T>
struct ScoredMemory : FirstStateMemory<T> {
  // χ² up to the first and the second UT layer, and up to the first and the second SciFi station.
  Parabola<T> first_ut, second_ut, first_station, second_station;
  int strip = 0;

  KERNEL_FUNCTION ScoredMemory() {
    first_ut = second_ut = first_station = second_station = Parabola<T>::nothing();
  }
  KERNEL_FUNCTION void hit(const Innovation<T>& u, const T& slope, const T* p, const Parabola<T>& hits) {
    constexpr int station = scifi_layers / 3;
    FirstStateMemory<T>::hit(u, slope, p, hits);
    if (strip == 0) first_ut = hits;
    if (strip == 1) second_ut = hits;
    if (strip == ut_layers + station - 1) first_station = hits;
    if (strip == ut_layers + 2 * station - 1) second_station = hits;
    ++strip;
  }
  KERNEL_FUNCTION void move(const T& change) {
    FirstStateMemory<T>::move(change);
    first_ut.move(change);
    second_ut.move(change);
    first_station.move(change);
    second_station.move(change);
  }
};

/// Compute the inputs of the networks. Logarithms are to base two, interpolated linearly between powers of two.
template <class T>
KERNEL_FUNCTION void score_features(const ScoredMemory<T>& memory, const Filter<T>& fit, const Fitted<T>& track,
                                    T* f) {
  using S = Scalar<T>;
  const auto piece = [](const T& chi2, const Integer<T>& ndof) {
    return rough_log2(T(S(0.05)) + chi2 / larger(Number<T>::of(ndof), T(1)));
  };
  // By how much the χ² of some hits would fall if q/p were fitted to them alone.
  const auto pulled = [](const Parabola<T>& hits) {
    const Mask<T> told = hits.weight > T(0);
    return rough_log2(T(1) + select(told, hits.pull * hits.pull / select(told, hits.weight, T(1)), T(0)));
  };
  const T zero(0), tenth(S(0.1)), ndof_ut = Number<T>::of(fit.ndof_ut);
  const auto station = [&](const T& chi2) { return rough_log2(tenth + larger(chi2, zero)); };
  f[0] = piece(track.chi2_velo, fit.ndof_velo);
  f[1] = piece(track.chi2_ut, fit.ndof_ut);
  f[2] = piece(track.chi2_scifi, fit.ndof_scifi);
  f[3] = select(ndof_ut > zero, T(1), zero);
  f[4] = ndof_ut;
  f[5] = Number<T>::of(fit.ndof_scifi);
  f[6] = rough_log2(T(1) + larger(memory.first_ut.chi2, zero));
  f[7] = rough_log2(T(1) + larger(memory.second_ut.chi2, zero));
  f[8] = station(memory.first_station.chi2);
  f[9] = station(memory.second_station.chi2 - memory.first_station.chi2);
  f[10] = station(track.chi2_scifi - memory.second_station.chi2);
  f[11] = pulled(fit.ut);
  f[12] = pulled(fit.velo);
  f[13] = rough_log2(magnitude(track.qop) * T(S(5000)));
  f[14] = rough_log2(track.tx * track.tx + track.ty * track.ty);
  f[15] = magnitude(track.tx);
  f[16] = magnitude(track.ty);
  static_assert(score::features == 17 && score::own == 13, "features and layout differ");
}

/// A network with `inputs` inputs and the weights `w`, which takes one feature after the other. Its units are summed
/// side by side. If one unit came after the other, each term of a sum would wait for the term before it.
template <int inputs, class T>
struct Network {
  const float* w;
  T units[score::hidden];

  KERNEL_FUNCTION explicit Network(const float* w) : w(w) {
    for (int h = 0; h < score::hidden; ++h) units[h] = weight(h * columns + inputs);
  }
  KERNEL_FUNCTION void take(int i, const T& feature) {
    for (int h = 0; h < score::hidden; ++h) units[h] += weight(h * columns + i) * feature;
  }
  /// Log odds, which grow the more genuine a track looks.
  KERNEL_FUNCTION T log_odds() const {
    constexpr int last = score::hidden * columns;
    T sum = weight(last + score::hidden);
    for (int h = 0; h < score::hidden; ++h) sum += weight(last + h) * larger(units[h], T(0));
    return sum;
  }

 private:
  static constexpr int columns = inputs + 1;
  KERNEL_FUNCTION T weight(int i) const { return T(static_cast<Scalar<T>>(w[i])); }
};

/// Both scores, without momentum and direction and with them. The networks share their first features.
template <class T>
KERNEL_FUNCTION void scores(const float* weights, const T* f, T* result) {
  Network<score::own, T> own(weights);
  Network<score::features, T> all(weights + score::count(score::own));
  KERNEL_ROLLED for (int i = 0; i < score::own; ++i) {
    const T feature = f[i];
    own.take(i, feature);
    all.take(i, feature);
  }
  KERNEL_ROLLED for (int i = score::own; i < score::features; ++i) all.take(i, f[i]);
  result[0] = own.log_odds();
  result[1] = all.log_odds();
}

/// Fit as fit_smoother does, and return the inputs of the networks, (features).
template <class T, class Kept>
KERNEL_FUNCTION Fitted<T> fit_with_features(const Candidates<Scalar<T>>& tracks, long i,
                                            const Detector<Scalar<T>>& detector, MagnetCoefficients<T, Kept>& m,
                                            T* features) {
  Filter<T> fit;
  ScoredMemory<T> memory;
  const Fitted<T> track = fit_smoother<T>(tracks, i, detector, fit, memory, m);
  score_features(memory, fit, track, features);
  return track;
}

}  // namespace parkf::kalman::PARKF_FORMS
