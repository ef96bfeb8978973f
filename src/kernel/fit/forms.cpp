// Compiled once for every set of forms, which the generated headers name.

#include "fit/forms.hpp"

#include <algorithm>

#include "fit/magnet.hpp"
#include "numbers/build_names.hpp"
#include "steps_by_name.hpp"

namespace parkf::kalman::PARKF_FORMS {

extern const Build build_plain;
#if defined(__x86_64__)
extern const Build build_v2, build_v3, build_v4;
#endif

namespace {

void through_table(const float* table, const double* header, double pol, State<double>& s, double* derivatives) {
  MagnetCoefficients<double> m;
  magnet_coefficients(table, header, s, m);
  JacobianMagnet<double> f;
  bool low_momentum;
  magnet_table(m, header, pol * s.k, s, f, low_momentum);
  const double rows[12] = {f.x_tx,  f.x_ty,  f.x_k,  f.y_tx,  f.y_ty,  f.y_k,
                           f.tx_tx, f.tx_ty, f.tx_k, f.ty_tx, f.ty_ty, f.ty_k};
  std::copy(rows, rows + 12, derivatives);
}

}  // namespace

extern const Forms forms;
const Forms forms{PARKF_QUOTE(PARKF_FORMS),
                  formulas_hash,
                  layout::count,
                  layout::UTT_META,
#if defined(__x86_64__)
                  {&build_plain, &build_v2, &build_v3, &build_v4},
#else
                  {&build_plain},
#endif
                  run_step<double>,
                  through_table,
                  bin::is_mine};

}  // namespace parkf::kalman::PARKF_FORMS
