#pragma once
// The Python module's view of a set of forms. Each set has one such object, which forms.cpp makes.

#include <string>
#include <vector>

#include "fit/fit_batch.hpp"
#include "fit/state.hpp"

namespace parkf::kalman {

struct Forms {
  const char* name;
  const char* formulas_hash;
  int constant_count;
  int header_offset;                 // of the magnet table's header in the constant blob
  int rich_constants;                // of the steps to the RICH planes
  int rich_numbers;                  // of the states at these planes
  bool has_trigger;                  // whether the trigger's arithmetic is for these forms
  std::vector<const Build*> builds;  // of all instruction sets, the slowest first

  /// Run one step by its name: it carries `s`, `c` and the columns of `jacobian` (25), and `q` receives its noise.
  bool (*run_step)(const std::string& name, const double* p, double pol, const double* planes, State<double>& s,
                   Covariance<double>& c, double* jacobian, Noise<double>& q);

  /// Carry a state at z_in to z_out by the table alone. Derivatives of x, y, tx, ty with respect to tx, ty and h go to
  /// `derivatives` (12).
  void (*through_table)(const float* table, const double* header, double pol, State<double>& s, double* derivatives);

  /// Fit a batch in the trigger's arithmetic, and write state, covariance and z at each point, (track, point, number).
  void (*trace_trigger_float)(const Batch<float>&, float* points);
  void (*trace_trigger_double)(const Batch<double>&, double* points);

  /// Whether a table's header has the kernel's bins and degrees.
  bool (*knows_header)(const float* header);
};

}  // namespace parkf::kalman
