#pragma once
// State, covariance and process noise of a track.

#include "numbers/number.hpp"

namespace parkf::kalman {

/// x, y (mm), tx, ty (rad) at a plane and k = q/p (1/MeV) at production.
template <class T>
struct State {
  T x, y, tx, ty, k;
};

/// Symmetric 4×4, order (x, y, tx, ty), its lower triangle row by row.
template <class T>
struct Covariance {
  T elements[10];

  KERNEL_FUNCTION T& operator()(int i, int j) { return elements[i < j ? j * (j + 1) / 2 + i : i * (i + 1) / 2 + j]; }
  KERNEL_FUNCTION const T& operator()(int i, int j) const {
    return elements[i < j ? j * (j + 1) / 2 + i : i * (i + 1) / 2 + j];
  }
};

/// The increase of the covariance by scattering.
template <class T>
struct Noise {
  T xx, xtx, txtx, yy, yty, tyty;
};

template <class T>
KERNEL_FUNCTION void add(const Noise<T>& q, Covariance<T>& c) {
  c(0, 0) += q.xx;
  c(2, 0) += q.xtx;
  c(2, 2) += q.txtx;
  c(1, 1) += q.yy;
  c(3, 1) += q.yty;
  c(3, 3) += q.tyty;
}

}  // namespace parkf::kalman
