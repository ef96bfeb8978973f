#pragma once
// The baseline: production's scheme as trigger code writes it, one track at a time with dense 5×5 matrices.
// Step functions and magnet table are the kernel's. All matrix algebra is written out here.

#include "fit/magnet.hpp"
#include "fit/tile.hpp"
#include "fit/velo.hpp"

namespace baseline {

using namespace parkf;
using namespace parkf::kalman;
using namespace parkf::kalman::PARKF_FORMS;

template <class S>
struct Matrix {
  S a[5][5];

  static Matrix identity() {
    Matrix m{};
    for (int i = 0; i < 5; ++i) m.a[i][i] = 1;
    return m;
  }
  friend Matrix operator*(const Matrix& l, const Matrix& r) {
    Matrix m;
    for (int i = 0; i < 5; ++i) {
      for (int j = 0; j < 5; ++j) {
        m.a[i][j] = 0;
        for (int k = 0; k < 5; ++k) m.a[i][j] += l.a[i][k] * r.a[k][j];
      }
    }
    return m;
  }
  Matrix inverse() const {  // Gauss–Jordan
    Matrix m = *this, result = identity();
    for (int i = 0; i < 5; ++i) {
      const S scale = 1 / m.a[i][i];
      for (int j = 0; j < 5; ++j) {
        m.a[i][j] *= scale;
        result.a[i][j] *= scale;
      }
      for (int r = 0; r < 5; ++r) {
        if (r == i) continue;
        const S factor = m.a[r][i];
        for (int j = 0; j < 5; ++j) {
          m.a[r][j] -= factor * m.a[i][j];
          result.a[r][j] -= factor * result.a[i][j];
        }
      }
    }
    return result;
  }
};

template <class S, class Jacobian>
Matrix<S> dense(const Jacobian& f) {
  Matrix<S> m;
  for (int j = 0; j < 4; ++j) {
    S column[4] = {};
    column[j] = 1;
    apply(f, column);
    for (int i = 0; i < 4; ++i) m.a[i][j] = column[i];
    m.a[4][j] = 0;
  }
  S by_k[4] = {};
  total_derivative(f, by_k);
  for (int i = 0; i < 4; ++i) m.a[i][4] = by_k[i];
  m.a[4][4] = 1;
  return m;
}

template <class S>
struct Track {
  State<S> s;
  Matrix<S> c, total;
  S z, chi2;

  /// The forward filter stores the steps that it has passed for the way back.
  void carry(const Matrix<S>& f, const Noise<S>& q) {
    total = f * total;
    carry_back(f, q);
  }
  void carry_back(const Matrix<S>& f, const Noise<S>& q) {
    transport(f);
    c.a[0][0] += q.xx;
    c.a[0][2] += q.xtx;
    c.a[2][0] += q.xtx;
    c.a[2][2] += q.txtx;
    c.a[1][1] += q.yy;
    c.a[1][3] += q.yty;
    c.a[3][1] += q.yty;
    c.a[3][3] += q.tyty;
  }
  /// C ← F C Fᵀ: the lower triangle, then mirrored.
  void transport(const Matrix<S>& f) {
    const Matrix<S> half = f * c;
    for (int i = 0; i < 5; ++i) {
      for (int j = 0; j <= i; ++j) {
        S sum = 0;
        for (int k = 0; k < 5; ++k) sum += half.a[i][k] * f.a[j][k];
        c.a[i][j] = c.a[j][i] = sum;
      }
    }
  }
  /// Update with a measured coordinate hx·x + hy·y.
  void update(S value, S variance, S hx, S hy) {
    S ch[5], gain[5];
    for (int i = 0; i < 5; ++i) ch[i] = c.a[i][0] * hx + c.a[i][1] * hy;
    const S weight = 1 / (variance + hx * ch[0] + hy * ch[1]);
    const S residual = value - hx * s.x - hy * s.y;
    for (int i = 0; i < 5; ++i) gain[i] = ch[i] * weight;
    s.x += gain[0] * residual;
    s.y += gain[1] * residual;
    s.tx += gain[2] * residual;
    s.ty += gain[3] * residual;
    s.k += gain[4] * residual;
    for (int i = 0; i < 5; ++i) {
      for (int j = 0; j <= i; ++j) c.a[i][j] = c.a[j][i] = c.a[i][j] - gain[i] * ch[j];
    }
    chi2 += residual * residual * weight;
  }
};

template <class S>
Track<S> fit(const CandidateRows<S>& rows, long i, const S* constant, const float* table, S variance) {
  const S pol = rows.polarity[i], seed = rows.qop[i];
  const S* velo[3] = {rows.velo[0] + i * velo_slots, rows.velo[1] + i * velo_slots, rows.velo[2] + i * velo_slots};
  const int n = rows.velo_n[i];
  Track<S> t;
  const S dz = velo[2][1] - velo[2][0];
  t.s = {velo[0][0], velo[1][0], (velo[0][1] - velo[0][0]) / dz, (velo[1][1] - velo[1][0]) / dz, seed};
  t.z = velo[2][0];
  t.chi2 = 0;
  t.total = Matrix<S>::identity();
  t.c = {};
  t.c.a[0][0] = t.c.a[1][1] = S(100);
  t.c.a[2][2] = t.c.a[3][3] = S(0.01);
  t.c.a[4][4] = S(0.09) * seed * seed;

  for (int slot = 0; slot < n; ++slot) {
    if (slot > 0) {
      const S z = velo[2][slot];
      JacobianV<S> f;
      const Noise<S> q = noise_V<S>(constant + layout::V, seed, t.z, z, t.s);
      step_V<S>(constant + layout::V, pol, t.z, z, t.s, f);
      t.carry(dense<S>(f), q);
      t.z = z;
    }
    t.update(velo[0][slot], variance, 1, 0);
    t.update(velo[1][slot], variance, 0, 1);
  }
  const State<S> last = t.s;
  const S z_last = t.z;
  t.total = Matrix<S>::identity();

  for (int layer = 0; layer < ut_layers; ++layer) {
    const long at = i * ut_layers + layer;
    const bool hit = finite(rows.ut[0][at]);
    const S z = hit ? rows.ut[1][at] : constant[layout::UTLayer + layer];
    if (layer == 0) {
      const S* p = constant + layout::VUT;
      JacobianVUT<S> f;
      const Noise<S> q = noise_VUT<S>(p, seed, t.z, z, t.s);
      step_VUT<S>(p, pol, t.z, z, t.s, f);
      t.carry(dense<S>(f), q);
    } else {
      const S* p = constant + layout::UT + (layer - 1) * layout::UT_columns;
      JacobianUT<S> f;
      const Noise<S> q = noise_UT<S>(p, seed, t.z, z, t.s);
      step_UT<S>(p, pol, t.z, z, t.s, f);
      t.carry(dense<S>(f), q);
    }
    t.z = z;
    if (hit) t.update(rows.ut[0][at], rows.ut[3][at] * rows.ut[3][at], 1, -rows.ut[2][at]);
  }
  const S z_in = constant[layout::UTT_META], z_out = constant[layout::UTT_META + 1];
  JacobianUT<S> to_magnet;
  step_UT<S>(constant + layout::UT + 2 * layout::UT_columns, pol, t.z, z_in, t.s, to_magnet);
  t.carry(dense<S>(to_magnet), Noise<S>{});

  const S bend = t.s.k;
  MagnetCoefficients<S> m;
  magnet_coefficients(table, constant + layout::UTT_META, t.s, m);
  JacobianMagnet<S> magnet;
  bool low;
  const State<S> at_z_in = t.s;
  through_magnet(m, constant, pol, t.s, magnet, low);
  t.carry(dense<S>(magnet), noise_UTTF<S>(constant + layout::UTTF, bend, at_z_in, t.s));
  t.z = z_out;

  for (int layer = 0; layer < scifi_layers; ++layer) {
    const long at = i * scifi_layers + layer;
    const S* place = constant + layout::TLayer + layer;
    const bool hit = finite(rows.scifi[0][at]);
    const S z = hit ? rows.scifi[1][at] : place[0];
    const S lean = S(1) / place[layout::TLayer_columns];
    if (layer == 0) {
      JacobianTFT<S> f;
      step_TFT<S>(constant + layout::TFT, pol, lean, z, t.z, t.s, f);
      t.carry(dense<S>(f), Noise<S>{});
    } else {
      const S* p = constant + layout::T + (2 * (layer - 1) + (t.s.y < 0)) * layout::T_columns;
      const S before = S(1) / place[layout::TLayer_columns - 1];
      JacobianT<S> f;
      const Noise<S> q = noise_T<S>(p, bend, before, lean, t.z, z, t.s);
      step_T<S>(p, pol, before, lean, t.z, z, t.s, f);
      t.carry(dense<S>(f), q);
    }
    t.z = z;
    if (hit) t.update(rows.scifi[0][at], rows.scifi[3][at] * rows.scifi[3][at], 1, -rows.scifi[2][at]);
  }

  const S k = t.s.k;
  t.transport(t.total.inverse());
  t.s = last;
  t.s.k = k;
  t.z = z_last;
  for (int slot = n - 1; slot >= 0; --slot) {
    if (slot < n - 1) {
      const S z = velo[2][slot];
      const S* p = constant + layout::V + layout::V_columns;
      JacobianV<S> f;
      const Noise<S> q = noise_V<S>(p, k, t.z, z, t.s);
      step_V<S>(p, pol, t.z, z, t.s, f);
      t.carry_back(dense<S>(f), q);
      t.z = z;
    }
    t.update(velo[0][slot], variance, 1, 0);
    t.update(velo[1][slot], variance, 0, 1);
  }
  return t;
}

}  // namespace baseline
