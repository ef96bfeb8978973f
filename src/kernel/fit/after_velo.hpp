#pragma once
// Stores fits at their last VELO hit, so that fits that differ only behind the VELO can begin there.

#include "fit/velo.hpp"

namespace parkf::kalman::PARKF_FORMS {

/// How many numbers of such a fit are not always zero.
constexpr int after_velo_numbers = 41;

/// Calls `visit` with each of them in a fixed order, except the two integers.
template <class T, class Visit>
KERNEL_FUNCTION void each_after_velo(Filter<T>& fit, FirstState<T>& first, T& z_first, const Visit& visit) {
  State<T>& s = fit.state;
  visit(s.x), visit(s.y), visit(s.tx), visit(s.ty), visit(s.k), visit(fit.z);
  visit(fit.c(0, 0)), visit(fit.c(2, 0)), visit(fit.c(2, 2));
  visit(fit.c(1, 1)), visit(fit.c(3, 1)), visit(fit.c(3, 3));
  visit(fit.by_k[0]), visit(fit.by_k[2]);
  visit(fit.seed.weight), visit(fit.velo.chi2), visit(fit.velo.pull), visit(fit.velo.weight);
  visit(z_first);
  visit(first.state[0]), visit(first.state[1]), visit(first.state[2]), visit(first.state[3]);
  visit(first.by_k[0]), visit(first.by_k[2]);
  visit(first.xx), visit(first.xtx), visit(first.txtx), visit(first.yy), visit(first.yty), visit(first.tyty);
  visit(first.cross[0][0]), visit(first.cross[0][2]), visit(first.cross[2][0]), visit(first.cross[2][2]);
  visit(first.cross[1][1]), visit(first.cross[1][3]), visit(first.cross[3][1]), visit(first.cross[3][3]);
}

/// Write the numbers of the tracks that run together, as (number, lane).
template <class T>
KERNEL_FUNCTION void keep_after_velo(Filter<T>& fit, FirstState<T>& first, T& z_first, Scalar<T>* row) {
  each_after_velo(fit, first, z_first, [&row](const T& number) {
    store(number, row);
    row += Number<T>::lanes;
  });
  store(Number<T>::of(fit.ndof_velo), row);
  store(Number<T>::of(fit.status), row + Number<T>::lanes);
}

template <class T>
KERNEL_FUNCTION void restore_after_velo(const Scalar<T>* row, Filter<T>& fit, FirstState<T>& first, T& z_first) {
  clear(fit, first);
  each_after_velo(fit, first, z_first, [&row](T& number) {
    number = load<T>(row);
    row += Number<T>::lanes;
  });
  fit.qop_variance = T(1) / fit.seed.weight;
  fit.ndof_velo = to_integer(load<T>(row));
  fit.status = to_integer(load<T>(row + Number<T>::lanes));
}

}  // namespace parkf::kalman::PARKF_FORMS
