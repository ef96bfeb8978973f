// Compiled once for every set of forms, which the generated headers name.

#include "forms.hpp"

#include "build_names.hpp"
#include "magnet.hpp"
#include "steps_by_name.hpp"

namespace parkf::kalman::PARKF_FORMS {

extern const Build build_plain;
#if defined(__x86_64__)
extern const Build build_v2, build_v3, build_v4;
#endif

namespace {

void through_table(const float* table, const double* header, double pol, State<double>& s, double* slopes) {
  MagnetCoefficients<double> m;
  magnet_coefficients(table, header, s.x, s.y, m);
  JacobianMagnet<double> f;
  bool low_momentum;
  magnet_table(m, header, pol * s.k, s, f, low_momentum);
  slopes[0] = f.x_k;
  slopes[1] = f.y_k;
  slopes[2] = f.tx_k;
  slopes[3] = f.ty_k;
}

bool knows_header(const float* header) {
  return header[11] == bin::nx && header[12] == bin::ny && header[13] == 1 && header[14] == 1 &&
         header[15] == bin::x_ux_degree && header[16] == bin::x_u0_degree && header[17] == bin::y_ux_degree &&
         header[18] == bin::y_u0_degree;
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
                  knows_header};

}  // namespace parkf::kalman::PARKF_FORMS
