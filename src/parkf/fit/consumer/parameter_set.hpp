#pragma once
// Reads a parameter set from its binary form, one file that `parkf params export --format binary` writes.

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "binary_form.hpp"
#include "files.hpp"
#include "magnet_slices.hpp"
#include "sha256.hpp"
#include "fit/electron.hpp"
#include "fit/score_layout.hpp"

namespace parkf {

/// A set of forms in a layout whose formulas are in this header.
struct FormsLayout {
  const char* name;
  const char* kernel;  // namespace of its kernel
  int layout_version;
  const char* formulas;  // fingerprint
  std::size_t numbers;   // of the constant blob
};

constexpr std::size_t table_numbers = 60 * 50 * 80;  // bins in x and y, coefficients

inline const std::vector<FormsLayout>& known_forms();  // defined below, next to the formulas

class ParameterSet {
 public:
  std::string version;  // name in the registry; empty before publication
  std::string manifest;  // the set's manifest.json, which is not interpreted here
  const FormsLayout* forms = nullptr;
  std::vector<float> constant;  // blocks one after the other
  std::vector<float> table;     // (bin x, bin y, coefficient)
  std::vector<float> score;     // the ghost score's networks; empty where the set has none of this version
  MagnetSlices slices;
  std::vector<double> electron;  // numbers for electrons; empty where the set has none of this version
  double velo_sigma = 0, beam_x = 0, beam_y = 0;  // mm
  double velo_loss = 0;                           // of momentum in each VELO module, MeV

  /// Read a set whose digest is `sha256`, 64 hexadecimal digits: those of `sha256sum FILE`, of `parkf params show`, and
  /// of the registry's index. An Error reports another digest, and a set that this header cannot use.
  static ParameterSet load(const std::filesystem::path& path, const std::string& sha256) {
    const std::string bytes = read_file(path);
    if (const std::string got = sha256_of(bytes); got != sha256) {
      throw Error(path.string() + ": digest " + got + ", expected " + sha256 + "; it is not the set that you want");
    }
    return parse(bytes, path.string());
  }

  /// Read the bytes of a set without looking at their digest; `where` names them in errors.
  static ParameterSet parse(std::string_view bytes, const std::string& where) {
    BinaryForm form(bytes, where);
    if (bytes.substr(0, magic.size()) != magic) form.fail("not a parameter set in its binary form");
    form.take(magic.size());
    if (const auto format = form.integer(); format != binary_format) {
      form.fail("format: got " + std::to_string(format) + ", expected " + std::to_string(binary_format) +
                "; read it with the header of another version of parkf");
    }
    ParameterSet set;
    set.version = form.text();
    set.forms = forms_of(form);
    set.read_constants(form);
    const std::uint32_t sections = form.integer();
    for (std::uint32_t i = 0; i < sections; ++i) set.read_section(form);
    set.manifest = form.text();
    form.end();
    check(form, "constant.f32", set.constant, set.forms->numbers);
    check(form, "global.f32", set.table, table_numbers);
    return set;
  }

  /// Fingerprint of the formulas that use the numbers.
  std::string formulas() const { return forms ? forms->formulas : ""; }

 private:
  static constexpr std::string_view magic = "PARKFSET";

  static const FormsLayout* forms_of(BinaryForm& form) {
    const std::string name = form.text(), formulas = form.text();
    const std::uint32_t layout = form.integer();
    std::string versions;
    for (const FormsLayout& forms : known_forms()) {
      if (name != forms.name) continue;
      versions += (versions.empty() ? "" : " or ") + std::to_string(forms.layout_version);
      if (layout != static_cast<std::uint32_t>(forms.layout_version)) continue;
      if (formulas != forms.formulas) {
        form.fail("formulas: got " + formulas.substr(0, 12) + "…, expected " + std::string(forms.formulas).substr(0, 12) +
                  "… of forms '" + name + "'; it was made for other formulas than this header");
      }
      return &forms;
    }
    if (versions.empty()) form.fail("forms: got \"" + name + "\", which this header lacks");
    form.fail("layout_version: got " + std::to_string(layout) + ", expected " + versions + " of forms '" + name + "'");
  }

  void read_constants(BinaryForm& form) {
    const std::vector<double> said = form.doubles();
    check(form, "constants", said, 4);
    velo_sigma = said[0];
    beam_x = said[1];
    beam_y = said[2];
    velo_loss = said[3];
    if (velo_sigma <= 0) form.fail("velo_sigma: got " + shown(velo_sigma) + ", expected more than 0");
    if (velo_loss < 0) form.fail("velo_loss: got " + shown(velo_loss) + ", expected at least 0");
  }

  /// Sections of other names, and of versions that this header does not know, are passed over.
  void read_section(BinaryForm& form) {
    const std::string name = form.text();
    const std::uint32_t kind = form.integer();
    const std::vector<double> said = form.doubles();
    std::vector<float> numbers = form.floats();
    check(form, name, said, said.size());
    if (name == "constant.f32") constant = std::move(numbers);
    if (name == "global.f32") table = std::move(numbers);
    if (name == "ghosts.f32" && kind == kalman::score::version) {
      check(form, name, numbers, kalman::score::numbers);
      score = std::move(numbers);
    }
    if (name == "slices.f32" && kind == slices_version) {
      slices = MagnetSlices::of(said);
      if (slices.count() == 0) form.fail(name + ": its description does not fit together; export the set again");
      check(form, name, numbers, slices.count());
      slices.numbers = std::move(numbers);
    }
    if (name == "electron" && kind == electron_version) {
      check(form, name, said, electron::numbers);
      electron = said;
    }
  }

  /// Refuse another count of numbers than the expected one, and infinity and NaN.
  template <class Number>
  static void check(const BinaryForm& form, const std::string& name, const std::vector<Number>& numbers,
                    std::size_t expected) {
    if (numbers.size() != expected) {
      form.fail(name + ": " + std::to_string(numbers.size()) + " numbers, expected " + std::to_string(expected));
    }
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (std::isfinite(numbers[i])) continue;
      form.fail(name + ": index " + std::to_string(i) + ": got " + shown(numbers[i]) + ", expected a number");
    }
  }

  static std::string shown(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", value);
    return text;
  }
};

}  // namespace parkf
