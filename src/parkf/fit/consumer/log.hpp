#pragma once
// The log of a signed registry, refused for the same reasons and in the same words as by parkf.params.log.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "json.hpp"
#include "schema.hpp"
#include "ssh_signature.hpp"

namespace parkf {

inline const std::vector<std::string_view>& entry_schema_text();  // below, written with the formulas

/// What was published in and withdrawn from the registry in a folder.
class Log {
 public:
  struct Publication {
    std::map<std::string, std::string> files;  // SHA-256, by their paths in the registry
    std::string withdrawn;                     // the reason; empty where the set is not withdrawn
  };
  std::map<std::string, Publication> sets;  // by version
  std::string signer;                       // name of the key that signed the newest entry

  static bool is_version(std::string_view name) {
    const std::string pattern = "^[0-9]{4}-[a-z0-9][a-z0-9-]{0,40}-r[0-9]{3}$";
    return json::Pattern::matches(pattern, name);
  }

  /// Whether the sets in a folder are read only if they are what a signed log lists.
  static bool is_signed(const std::filesystem::path& folder) {
    return std::filesystem::exists(folder / "allowed_signers") || std::filesystem::exists(folder / "log") ||
           !trusted().empty();
  }

  /// Read the log, and check its chain and its signature, and that all sets are there. `trust` is a folder with a copy
  /// of the log and the keys, by default that in PARKF_TRUST: its keys count, and the log must begin with its log.
  static Log read(const std::filesystem::path& folder, std::filesystem::path trust = {}) {
    if (trust.empty()) trust = trusted();
    const auto keys = ssh::signers((trust.empty() ? folder : trust) / "allowed_signers", purpose);
    Log log;
    std::set<std::string> there;
    for (const bool last_look : {false, true}) {
      log = chain(folder);
      log.check_signatures(keys);
      there.clear();
      for (const auto& one : std::filesystem::directory_iterator(folder)) {
        if (is_version(one.path().filename().string())) there.insert(one.path().filename().string());
      }
      const bool listed = std::all_of(there.begin(), there.end(), [&](auto& name) { return log.sets.count(name); });
      if (last_look || listed) break;
      // The folder of a set appears just before its entry.
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    if (!trust.empty() && std::filesystem::is_directory(trust / "log")) log.check_begin(chain(trust));
    for (const auto& [version, publication] : log.sets) {
      if (there.count(version)) continue;
      throw Error((folder / version).string() + ": missing; the log lists it: get it again from another copy");
    }
    for (const std::string& name : there) {
      if (!log.sets.count(name)) not_listed(folder / name);
    }
    return log;
  }

  /// Compare the files of a set with the log.
  const Publication& check_set(const std::string& version) const {
    const auto found = sets.find(version);
    if (found == sets.end()) not_listed(folder_ / version);
    std::set<std::filesystem::path> paths;
    for (const auto& one : std::filesystem::directory_iterator(folder_ / version)) paths.insert(one.path());
    for (const auto& path : paths) {
      if (found->second.files.count(version + "/" + path.filename().string())) continue;
      throw Error(path.string() + ": not in the log; the set was published without it: remove it");
    }
    for (const auto& [name, expected] : found->second.files) {
      const std::string got = hash(read_file(folder_ / name));
      if (got == expected) continue;
      throw Error((folder_ / name).string() + ": sha256 " + got + ", expected " + expected +
                  " of log/; it was changed after its publication: get it again from another copy");
    }
    return found->second;
  }

 private:
  static constexpr auto purpose = "parkf-registry";

  static std::string trusted() {
    const char* named = std::getenv("PARKF_TRUST");
    return named ? named : "";
  }

  static std::filesystem::path entry_path(const std::filesystem::path& folder, std::size_t number) {
    std::string digits = std::to_string(number);
    return folder / "log" / (std::string(4 - std::min<std::size_t>(4, digits.size()), '0') + digits) / "entry.json";
  }
  static std::string hash(const std::string& content) {
    Sha256 digest;
    digest.add(content);
    return digest.digest();
  }
  [[noreturn]] static void not_listed(const std::filesystem::path& path) {
    throw Error(path.string() + ": not in the log: nobody published this set, its publication was interrupted, or the "
                "log is older; finish a publication with `parkf params repair`, or else compare with another copy of the "
                "registry, or remove the folder");
  }

  static Log chain(const std::filesystem::path& folder) {
    if (!std::filesystem::is_directory(folder / "log")) {
      throw Error((folder / "log").string() +
                  ": no such folder; the registry is signed: get its log from another copy");
    }
    std::set<std::string> names;
    for (const auto& one : std::filesystem::directory_iterator(folder / "log")) {
      names.insert(one.path().filename().string());
    }
    std::string rules;
    for (const std::string_view piece : entry_schema_text()) rules += piece;
    const json::Value schema = json::parse(rules);
    Log log;
    log.folder_ = folder;
    for (const std::string& name : names) {
      const auto path = entry_path(folder, log.hashes_.size());
      if (name != path.parent_path().filename()) {
        throw Error(path.parent_path().string() + ": missing, got " + name + "; get the log again from another copy");
      }
      log.add(path, schema);
    }
    return log;
  }

  void add(const std::filesystem::path& path, const json::Value& schema) {
    const std::string text = read_file(path);
    json::Value entry;
    try {
      entry = json::parse(text);
    } catch (const json::NotJson& error) {
      throw Error(path.string() + ": not a JSON file: " + error.what());
    }
    if (const auto problem = json::Schema(schema, false).problem(entry)) throw Error(path.string() + ": " + *problem);
    const auto refuse = [&](const std::string& what) {
      throw Error(path.string() + ": " + what + "; the log was changed: get it again from another copy");
    };
    const std::string number = std::to_string(hashes_.size()), version(entry.at("set").text);
    const std::string &previous = entry.at("previous").text, kind = entry.at("kind").text;
    const json::Value &files = entry.at("files"), &reason = entry.at("reason");
    if (entry.at("number").token != number) {
      refuse("number: got " + std::string(entry.at("number").token) + ", expected " + number);
    }
    if (previous != hashes_.back()) {
      refuse("previous: got " + previous + ", expected " + hashes_.back() + " of the entry before");
    }
    const json::Value* keys = entry.find("keys");
    const bool has_keys = keys && keys->kind != json::Value::Kind::null;
    const bool has_set = entry.at("set").kind != json::Value::Kind::null;
    std::vector<std::string> lines;
    if (has_keys) {
      for (const json::Value& line : keys->items) lines.push_back(std::string(line.text));
    }
    const auto known = sets.find(version);
    if (kind == "handover") {
      if (lines.empty() || has_set || reason.kind != json::Value::Kind::null || !files.members.empty()) {
        refuse("expected a handover with keys, and without a set");
      }
    } else if (!has_set || has_keys) {
      refuse((has_set ? version : "None") + ": expected a set, and no keys");
    } else if (kind == "withdrawn") {
      if (known == sets.end() || !known->second.withdrawn.empty() || reason.text.empty() || !files.members.empty()) {
        refuse(version + ": expected a set that is published, and a reason");
      }
      known->second.withdrawn = reason.text;
    } else {
      bool good = known == sets.end() && reason.kind == json::Value::Kind::null &&
                  files.find(version + "/manifest.json") != nullptr;
      Publication& publication = sets[version];
      for (const auto& [name, sum] : files.members) {
        const std::size_t end = name.find('/');
        const std::string folder = name.substr(0, end);
        good = good && end != std::string::npos && (folder == version || folder == "layouts") &&
               json::Pattern::matches("^[A-Za-z0-9][A-Za-z0-9_.-]{0,40}$", std::string_view(name).substr(end + 1));
        publication.files[name] = sum.text;
      }
      if (!good) refuse(version + ": expected a new set, and its files");
    }
    hashes_.push_back(hash(text));
    what_.push_back(has_set ? kind + " " + version : kind);
    keys_.push_back(lines);
  }

  /// Check the signatures of the handovers and of the newest entry. After a handover only the keys count that it names.
  void check_signatures(ssh::Signers keys) {
    for (std::size_t number = 1; number <= std::max<std::size_t>(1, keys_.size()); ++number) {
      const bool there = number <= keys_.size();
      if (there && number < keys_.size() && keys_[number - 1].empty()) continue;
      const auto path = entry_path(folder_, number);
      signer = ssh::check(path.parent_path() / "entry.json.sig", there ? read_file(path) : "", keys, purpose);
      if (there && !keys_[number - 1].empty()) keys = ssh::signers(keys_[number - 1], path, purpose);
    }
  }

  /// Refuse a log that does not begin with a trusted one.
  void check_begin(const Log& trusted) const {
    for (std::size_t number = 1; number < trusted.hashes_.size(); ++number) {
      const std::string path = entry_path(folder_, number).string(), & what = trusted.what_[number - 1];
      if (number >= hashes_.size()) {
        throw Error(path + ": missing, expected " + what + " as in " + trusted.folder_.string() +
                    "; the log was rolled back: get it again from another copy");
      }
      if (hashes_[number] != trusted.hashes_[number]) {
        throw Error(path + ": another entry, expected " + what + " as in " + trusted.folder_.string() +
                    "; the log was rewritten");
      }
    }
  }

  std::filesystem::path folder_;
  std::vector<std::string> hashes_{std::string(64, '0')};  // zeros, and SHA-256 of each entry's file
  std::vector<std::string> what_;                          // kind and version of each entry
  std::vector<std::vector<std::string>> keys_;             // of each entry: keys that a handover names
};

}  // namespace parkf
