#pragma once
// The treatment of a track by a robust fit: it leaves UT hits out, and enlarges the noise of a step and of the magnet.

#include "fit/after_velo.hpp"
#include "fit/smoother.hpp"

namespace parkf::kalman {

/// The noise of the step that ends at `slot` is multiplied by `larger`, that of the step through the magnet by `magnet`.
/// A slot of -1 is no step.
template <class T>
struct Treatment {
  Mask<T> without_ut;
  Integer<T> slot;
  T larger, magnet;
};

namespace PARKF_FORMS {

/// The smoother's memory for a treated track.
template <class T>
struct TreatedMemory : FirstStateMemory<T> {
  Treatment<T> treatment;

  KERNEL_FUNCTION explicit TreatedMemory(const Treatment<T>& treatment) : treatment(treatment) {}
  KERNEL_FUNCTION Mask<T> ut_hit(const Mask<T>& measured) { return measured & !treatment.without_ut; }
  KERNEL_FUNCTION bool looks_at(const Mask<T>& measured) { return any(measured); }
  KERNEL_FUNCTION Noise<T> scattering(int slot, const Noise<T>& q) {
    const T l = slot == scifi_slots ? treatment.magnet
                                    : select(treatment.slot == Integer<T>(slot), treatment.larger, T(1));
    return {q.xx * l, q.xtx * l, q.txtx * l, q.yy * l, q.yty * l, q.tyty * l};
  }
};

/// Fit the tracks from number `i` on that run together; `m` is where the magnet's coefficients are kept meanwhile.
template <class T, class Kept>
KERNEL_FUNCTION Fitted<T> fit_treated(const Candidates<Scalar<T>>& tracks, long i,
                                      const Detector<Scalar<T>>& detector, const Treatment<T>& treatment,
                                      MagnetCoefficients<T, Kept>& m) {
  Filter<T> fit;
  TreatedMemory<T> memory(treatment);
  return fit_smoother<T>(tracks, i, detector, fit, memory, m);
}

/// The same, continued from `velo`, the stored fit at the last VELO hit.
template <class T>
KERNEL_FUNCTION Fitted<T> fit_treated(const Candidates<Scalar<T>>& tracks, long i,
                                      const Detector<Scalar<T>>& detector, const Treatment<T>& treatment,
                                      const Scalar<T>* velo) {
  Filter<T> fit;
  TreatedMemory<T> memory(treatment);
  MagnetCoefficients<T> m;
  T z_first;
  restore_after_velo(velo, fit, memory.first, z_first);
  return fit_behind_velo<T>(tracks, i, detector, load<T>(tracks.polarity + i), z_first, fit, memory, m);
}

}  // namespace PARKF_FORMS
}  // namespace parkf::kalman
