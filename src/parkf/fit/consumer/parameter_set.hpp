#pragma once
// Reads a parameter set from its folder, or refuses it for the same reasons and with the same messages as
// parkf.params.load.

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "files.hpp"
#include "json.hpp"
#include "log.hpp"
#include "magnet_slices.hpp"
#include "schema.hpp"
#include "sha256.hpp"
#include "fit/electron.hpp"
#include "fit/score_layout.hpp"

namespace parkf {

/// A rectangle of the constant blob.
struct Block {
  const char* name;
  int sets, columns;
};

/// A set of forms in a layout whose formulas are in this header.
struct FormsLayout {
  const char* name;
  const char* kernel;  // namespace of its kernel
  int layout_version;
  const char* formulas;  // fingerprint
  std::vector<Block> blocks;

  std::size_t count() const {
    std::size_t sum = 0;
    for (const Block& block : blocks) sum += std::size_t(block.sets) * block.columns;
    return sum;
  }
};

constexpr std::array<int, 3> table_shape{60, 50, 80};

inline const std::vector<FormsLayout>& known_forms();       // defined below, next to the formulas
inline const std::vector<std::string_view>& schema_text();  // of the manifest, in pieces

class ParameterSet {
 public:
  std::string version;  // name in the registry; empty before publication
  std::string withdrawn;  // of a signed registry: why the set must not be used any more; empty otherwise
  const FormsLayout* forms = nullptr;
  std::vector<float> constant;  // blocks one after the other
  std::vector<float> table;     // (bin x, bin y, coefficient)
  std::vector<float> score;     // the ghost score's networks; empty where the set has none of this version
  MagnetSlices slices;
  std::vector<double> electron;  // numbers for electrons; empty where the set has none of this version
  double velo_sigma = 0, beam_x = 0, beam_y = 0;  // mm
  double velo_loss = 0;                           // of momentum in each VELO module, MeV

  /// Read a set and refuse one that is not whole. A set in a signed registry must also be what its log lists; `trust`
  /// is a folder with a trusted copy of the log and the keys, by default that in the environment's PARKF_TRUST.
  static ParameterSet load(const std::filesystem::path& folder, const std::filesystem::path& trust = {}) {
    std::error_code problem;
    const std::filesystem::path place = std::filesystem::weakly_canonical(folder, problem);
    const std::string name = place.filename().string();
    std::string withdrawn;
    if (!trust.empty() || (!problem && Log::is_version(name) && Log::is_signed(place.parent_path()))) {
      withdrawn = Log::read(place.parent_path(), trust).check_set(name).withdrawn;
    }
    const std::filesystem::path path = folder / "manifest.json";
    const std::string text = read_file(path);
    json::Value manifest;
    try {
      manifest = json::parse(text);
    } catch (const json::NotJson& error) {
      throw Error(path.string() + ": not a JSON file: " + error.what());
    }
    check_manifest(path.string(), text, manifest);
    ParameterSet set;
    set.forms = forms_of(path.string(), manifest);
    const json::Value &blobs = manifest.at("blobs"), &constants = manifest.at("constants");
    set.constant = blob(folder / "constant.f32", blobs.at("constant"), set.forms->count());
    set.table = blob(folder / "global.f32", blobs.at("table"), table_numbers());
    set.refuse_non_finite(folder.string());
    set.compare(path.string(), manifest.at("layout"));
    const json::Value* said = manifest.find("ghost_score");
    if (said != nullptr && said->kind == json::Value::Kind::object &&
        said->at("version").number() == kalman::score::version) {
      set.score = finite_blob(folder / "ghosts.f32", said->at("blob"), kalman::score::numbers);
    }
    said = manifest.find("slices");
    if (said != nullptr && said->kind == json::Value::Kind::object && said->at("version").number() == slices_version) {
      set.slices = MagnetSlices(*said);
      set.slices.numbers = finite_blob(folder / "slices.f32", said->at("blob"), set.slices.count());
    }
    set.electron = numbers_for_electrons(manifest.find("electron"));
    set.version = manifest.at("version").text;
    set.withdrawn = withdrawn;
    set.velo_sigma = constants.at("velo_sigma").number();
    set.beam_x = constants.at("beam_x").number();
    set.beam_y = constants.at("beam_y").number();
    if (const json::Value* loss = constants.find("velo_loss")) set.velo_loss = loss->number();
    return set;
  }

  /// Fingerprint of the formulas that use the numbers.
  std::string formulas() const { return forms ? forms->formulas : ""; }

  static std::size_t table_numbers() { return std::size_t(table_shape[0]) * table_shape[1] * table_shape[2]; }

 private:
  static std::vector<double> numbers_for_electrons(const json::Value* said) {
    std::vector<double> found;
    if (said == nullptr || said->kind != json::Value::Kind::object ||
        said->at("version").number() != electron_version) {
      return found;
    }
    for (const json::Value& block : said->at("layout").items) {
      for (const json::Value& one : block.at("sets").items) {
        for (const json::Value& number : one.at("numbers").items) {
          const std::size_t place = found.size();
          if (place >= std::size_t(electron::numbers) || one.at("label").text != electron::names[place].set ||
              number.at("name").text != electron::names[place].name) {
            return {};
          }
          found.push_back(number.at("value").number());
        }
      }
    }
    if (found.size() != std::size_t(electron::numbers)) found.clear();
    return found;
  }
  static std::string shown(double value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", value);
    return text;
  }

  static void check_manifest(const std::string& path, const std::string& text, const json::Value& manifest) {
    const auto version = [&](const char* name) -> double {
      const json::Value* found = manifest.find(name);
      return found && found->kind == json::Value::Kind::integer ? found->number() : 0;
    };
    const auto refuse = [&](const char* name, const std::string& expected) {
      throw Error(path + ": " + name + ": got " + std::string(manifest.at(name).token) + ", expected " + expected);
    };
    if (version("minimum_reader") > format_version) {
      refuse("minimum_reader", "at most " + std::to_string(format_version) + "; read it with a newer version of parkf");
    }
    if (manifest.find("format_version") && version("format_version") < oldest_format && version("format_version") > 0) {
      refuse("format_version", std::to_string(oldest_format) + " or newer; make the set again");
    }
    check_sum(path, text, manifest, version("format_version") >= checked_format);
    std::string rules;
    for (const std::string_view piece : schema_text()) rules += piece;
    const json::Value schema = json::parse(rules);
    if (const auto problem = json::Schema(schema, version("format_version") > format_version).problem(manifest)) {
      throw Error(path + ": " + *problem);
    }
  }

  /// Compares the checksum in a manifest with that of its bytes, in which zeros replace the checksum itself.
  static void check_sum(const std::string& path, std::string text, const json::Value& manifest, bool needed) {
    const json::Value* said = manifest.find("checksum");
    if (said == nullptr || said->kind == json::Value::Kind::null) {
      if (needed) throw Error(path + ": checksum: missing field");
      return;
    }
    const std::string none(64, '0');
    // The schema refuses whatever cannot be a checksum.
    if (said->kind != json::Value::Kind::string || said->text.size() != none.size()) return;
    const std::size_t place = text.find(said->text);
    if (place != std::string::npos) text.replace(place, none.size(), none);
    Sha256 digest;
    digest.add(text);
    if (digest.digest() != said->text) {
      throw Error(path + ": not a manifest as it was written: the content does not have the checksum that it says; "
                  "make it again, or get it again from where it came");
    }
  }

  static const FormsLayout* forms_of(const std::string& path, const json::Value& manifest) {
    const std::string& name = manifest.at("forms").text;
    const json::Value& layout = manifest.at("layout_version");
    std::string versions;
    for (const FormsLayout& forms : known_forms()) {
      if (name != forms.name) continue;
      versions += (versions.empty() ? "" : " or ") + std::to_string(forms.layout_version);
      if (layout.number() != forms.layout_version) continue;
      const std::string& formulas = manifest.at("formulas").text;
      if (formulas != forms.formulas) {
        throw Error(path + ": formulas: got " + formulas.substr(0, 12) + "…, expected " +
                    std::string(forms.formulas).substr(0, 12) + "… of forms '" + name + "'; it was made for other "
                    "formulas than this header");
      }
      return &forms;
    }
    if (versions.empty()) throw Error(path + ": forms: got \"" + name + "\", which this header lacks");
    throw Error(path + ": layout_version: got " + std::string(layout.token) + ", expected " + versions + " of forms '" +
                name + "'");
  }

  static std::vector<float> blob(const std::filesystem::path& path, const json::Value& said, std::size_t count) {
    const std::string expected = std::to_string(count);
    const std::string bytes =
        read_file(path, 4 * count, std::to_string(4 * count) + " (" + expected + " numbers of float32)", true);
    if (said.at("numbers").number() != static_cast<double>(count)) {
      throw Error(path.string() + ": the manifest says " + std::string(said.at("numbers").token) +
                  " numbers, expected " + expected);
    }
    Sha256 digest;
    digest.add(bytes);
    const std::string got = digest.digest();
    if (got != said.at("sha256").text) {
      throw Error(path.string() + ": sha256 " + got + ", the manifest says " + said.at("sha256").text +
                  "; one of the two was changed");
    }
    std::vector<float> numbers(count);
    for (std::size_t i = 0; i < count; ++i) {
      std::uint32_t word = 0;
      for (int byte = 3; byte >= 0; --byte) word = word << 8 | static_cast<unsigned char>(bytes[4 * i + byte]);
      std::memcpy(&numbers[i], &word, 4);
    }
    return numbers;
  }

  static std::vector<float> finite_blob(const std::filesystem::path& path, const json::Value& said, std::size_t count) {
    std::vector<float> numbers = blob(path, said, count);
    for (std::size_t i = 0; i < count; ++i) {
      if (std::isfinite(numbers[i])) continue;
      throw Error(path.string() + ": index " + std::to_string(i) + ": got " + shown(numbers[i]) + ", expected a number");
    }
    return numbers;
  }

  void refuse_non_finite(const std::string& folder) const {
    std::size_t position = 0;
    for (const Block& block : forms->blocks) {
      for (int i = 0; i < block.sets * block.columns; ++i, ++position) {
        if (std::isfinite(constant[position])) continue;
        throw Error(folder + "/constant.f32: block " + place(block, i) + ": got " + shown(constant[position]) +
                    ", expected a number");
      }
    }
    for (std::size_t i = 0; i < table.size(); ++i) {
      if (std::isfinite(table[i])) continue;
      const std::size_t bin = i / table_shape[2], ny = table_shape[1];
      throw Error(folder + "/global.f32: bin " + std::to_string(bin / ny) + "," + std::to_string(bin % ny) + " index " +
                  std::to_string(i % table_shape[2]) + ": got " + shown(table[i]) + ", expected a number");
    }
  }

  static std::string place(const Block& block, int i) {
    return std::string(block.name) + " set " + std::to_string(i / block.columns) + " index " +
           std::to_string(i % block.columns);
  }

  /// Compares the blob with the manifest, which describes every number and has its value.
  void compare(const std::string& path, const json::Value& layout) const {
    const auto expect = [&](const std::string& where, const std::string& got, const std::string& expected) {
      if (got != expected) throw Error(path + ": layout: " + where + ": got " + got + ", expected " + expected);
    };
    expect("blocks", std::to_string(layout.items.size()), std::to_string(forms->blocks.size()));
    std::size_t position = 0;
    for (std::size_t b = 0; b < forms->blocks.size(); ++b) {
      const Block& block = forms->blocks[b];
      const json::Value& described = layout.items[b];
      expect("block " + std::to_string(b), described.at("name").text, block.name);
      const json::Value& sets = described.at("sets");
      expect(std::string("sets of block ") + block.name, std::to_string(sets.items.size()), std::to_string(block.sets));
      for (int i = 0; i < block.sets * block.columns; ++i, ++position) {
        const json::Value& numbers = sets.items[i / block.columns].at("numbers");
        expect(std::string("numbers of block ") + block.name + " set " + std::to_string(i / block.columns),
               std::to_string(numbers.items.size()), std::to_string(block.columns));
        const double value = numbers.items[i % block.columns].at("value").number();
        const bool fits = std::abs(value) <= std::numeric_limits<float>::max();
        if (!fits || static_cast<float>(value) != constant[position]) {
          throw Error(path + ": layout: block " + place(block, i) + ": got " + shown(value) + ", expected " +
                      shown(constant[position]) + " of constant.f32");
        }
      }
    }
  }
};

}  // namespace parkf
