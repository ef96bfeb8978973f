#pragma once
// Writes the ghost scores of a batch, on processors.

#include "fit/fit_batch.hpp"
#include "fit/score.hpp"

namespace parkf::kalman::PARKF_FORMS {

/// Write the scores of the tracks that run together, the first of which is `i`, or their features if the batch has no
/// networks. If the batch is `large`, write past the caches, as other results. Otherwise the fit takes a tenth longer.
template <class T>
KERNEL_FUNCTION void store_scores(const Batch<Scalar<T>>& batch, long i, bool large, const T* features) {
  Scalar<T>* row = batch.numbers + batch.score_row * batch.stride + i;
  const auto write = [&](const T* values, int count) {
    for (int q = 0; q < count; ++q, row += batch.stride) {
      if (large) {
        store<true>(values[q], row);
      } else {
        store(values[q], row);
      }
    }
  };
  if (batch.score != nullptr) {
    T both[score::models];
    scores(batch.score, features, both);
    write(both, score::models);
  } else {
    write(features, score::features);
  }
}

}  // namespace parkf::kalman::PARKF_FORMS
