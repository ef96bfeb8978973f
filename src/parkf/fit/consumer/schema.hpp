#pragma once
// Checks a document against a JSON Schema that has only the features of the manifest's schema. The first problem is
// returned with the same message as by parkf.params.schema, which uses the same schema.

#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "json.hpp"

namespace parkf::json {

/// Whether text matches a pattern: ^, then characters or [classes] with {n} or {from,to}, then $. The regular
/// expressions of the standard library are not used: they take long to compile, and recurse once for each character.
class Pattern {
 public:
  static bool matches(std::string_view pattern, std::string_view text) {
    return pattern.size() >= 2 && here(pattern.substr(1, pattern.size() - 2), text);
  }

 private:
  static bool here(std::string_view pattern, std::string_view text) {
    if (pattern.empty()) return text.empty();
    const std::size_t end = pattern[0] == '[' ? pattern.find(']') + 1 : 1;
    const std::string_view one = pattern.substr(0, end);
    std::string_view rest = pattern.substr(end);
    std::size_t least = 1, most = 1;
    if (!rest.empty() && rest[0] == '{') {
      const std::string count(rest.substr(1, rest.find('}') - 1));
      const std::size_t comma = count.find(',');
      least = std::strtoul(count.c_str(), nullptr, 10);
      most = comma == std::string::npos ? least : std::strtoul(count.c_str() + comma + 1, nullptr, 10);
      rest = rest.substr(rest.find('}') + 1);
    }
    for (std::size_t n = 0; n <= most; ++n) {
      if (n >= least && here(rest, text.substr(n))) return true;
      if (n >= text.size() || !in(one, text[n])) return false;
    }
    return false;
  }
  static bool in(std::string_view one, char c) {
    if (one[0] != '[') return one[0] == c;
    for (std::size_t i = 1; i + 1 < one.size(); ++i) {
      const bool range = i + 3 < one.size() && one[i + 1] == '-';
      if (range ? one[i] <= c && c <= one[i + 2] : one[i] == c) return true;
      if (range) i += 2;
    }
    return false;
  }
};

class Schema {
 public:
  explicit Schema(const Value& root, bool unknown_fields_pass) : root_(root), lenient_(unknown_fields_pass) {}

  /// The first problem of a document, or nothing.
  std::optional<std::string> problem(const Value& document) const { return check(root_, document, ""); }

 private:
  using Kind = Value::Kind;
  using Problem = std::optional<std::string>;

  static std::string shown(const Value& value) {
    if (value.kind == Kind::object) return "an object";
    if (value.kind == Kind::array) return "a list";
    return std::string(value.token.substr(0, 40));
  }
  static std::string said(const std::string& place, const std::string& what) {
    return place.empty() ? what : place + ": " + what;
  }
  static Problem expected(const std::string& place, const Value& value, const std::string& what) {
    return said(place, "got " + shown(value) + ", expected " + what);
  }
  static std::string inside(const std::string& place, const std::string& name) {
    return place.empty() ? name : place + "." + name;
  }
  static std::string called(std::string_view type) {
    if (type == "object") return "an object";
    if (type == "array") return "a list";
    if (type == "string") return "a string";
    if (type == "integer") return "an integer";
    if (type == "number") return "a number";
    if (type == "boolean") return "true or false";
    return "null";
  }
  static bool is(const Value& value, std::string_view type) {
    switch (value.kind) {
      case Kind::null: return type == "null";
      case Kind::boolean: return type == "boolean";
      case Kind::integer: return type == "integer" || type == "number";
      case Kind::number: return type == "number";
      case Kind::string: return type == "string";
      case Kind::array: return type == "array";
      case Kind::object: return type == "object";
    }
    return false;
  }

  const Value& resolved(const Value& schema) const {
    const Value* reference = schema.find("$ref");
    return reference ? resolved(root_.at("$defs").at(reference->text.substr(8))) : schema;
  }
  bool nullable(const Value& schema) const {
    const Value* either = schema.find("anyOf");
    return either && either->items.size() == 2 && either->items[1].at("type").text == "null";
  }

  Problem check(const Value& reference, const Value& value, const std::string& place) const {
    const Value& schema = resolved(reference);
    if (nullable(schema)) {
      return value.kind == Kind::null ? Problem{} : check(schema.at("anyOf").items[0], value, place);
    }
    if (const Value* type = schema.find("type"); type && !is(value, type->text)) {
      return expected(place, value, called(type->text));
    }
    switch (value.kind) {
      case Kind::object: return members(schema, value, place);
      case Kind::array: return items(schema, value, place);
      case Kind::integer:
      case Kind::number: return number(schema, value, place);
      case Kind::string: return text(schema, value, place);
      default: return choice(schema, value, place);
    }
  }

  Problem members(const Value& schema, const Value& value, const std::string& place) const {
    const Value* properties = schema.find("properties");
    if (const Value* required = schema.find("required")) {
      for (const Value& name : required->items) {
        if (!value.find(name.text)) return said(inside(place, name.text), "missing field");
      }
    }
    const Value* others = schema.find("additionalProperties");
    for (const auto& [name, member] : value.members) {
      const Value* known = properties ? properties->find(name) : nullptr;
      if (!known && others && others->kind == Kind::object) known = others;
      if (!known && !lenient_) return said(inside(place, name), "unknown field");
      if (!known) continue;
      if (Problem found = check(*known, member, inside(place, name))) return found;
    }
    return {};
  }
  Problem items(const Value& schema, const Value& value, const std::string& place) const {
    const Value* each = schema.find("items");
    for (std::size_t i = 0; each && i < value.items.size(); ++i) {
      if (Problem found = check(*each, value.items[i], inside(place, std::to_string(i)))) return found;
    }
    return {};
  }
  Problem number(const Value& schema, const Value& value, const std::string& place) const {
    const double got = value.number();
    if (!std::isfinite(got)) return said(place, "got a number beyond double precision, expected a finite one");
    if (const Value* least = schema.find("minimum"); least && got < least->number()) {
      return expected(place, value, "at least " + std::string(least->token));
    }
    if (const Value* bound = schema.find("exclusiveMinimum"); bound && got <= bound->number()) {
      return expected(place, value, "more than " + std::string(bound->token));
    }
    return choice(schema, value, place);
  }
  Problem text(const Value& schema, const Value& value, const std::string& place) const {
    const Value* pattern = schema.find("pattern");
    if (pattern && !Pattern::matches(pattern->text, value.text)) {
      return expected(place, value, "text like " + pattern->text);
    }
    return choice(schema, value, place);
  }
  Problem choice(const Value& schema, const Value& value, const std::string& place) const {
    if (const Value* only = schema.find("const"); only && only->token != value.token) {
      return expected(place, value, std::string(only->token));
    }
    const Value* choices = schema.find("enum");
    if (!choices) return {};
    std::string names;
    for (const Value& choice : choices->items) {
      if (choice.token == value.token) return {};
      names += (names.empty() ? "" : " or ") + std::string(choice.token);
    }
    return expected(place, value, names);
  }

  const Value& root_;
  bool lenient_;
};

}  // namespace parkf::json
