#pragma once
// A JSON reader that checks all of its input: every problem is an error, the depth of nesting is limited, and no key
// may occur twice. The memory that it needs is proportional to the length of the text.

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace parkf::json {

constexpr int deepest = 64;

/// The text is not JSON; what() has the position of the problem.
struct NotJson : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Value {
  enum class Kind { null, boolean, integer, number, string, array, object };
  Kind kind = Kind::null;
  std::string_view token;  // as written; empty for arrays and objects
  std::string text;        // a string's characters
  std::vector<Value> items;
  std::vector<std::pair<std::string, Value>> members;

  /// The member of this name, or null.
  const Value* find(std::string_view name) const {
    for (const auto& member : members) {
      if (member.first == name) return &member.second;
    }
    return nullptr;
  }
  const Value& at(std::string_view name) const {
    if (const Value* found = find(name)) return *found;
    throw NotJson("member '" + std::string(name) + "' is missing");
  }
  /// The number's value; infinite beyond double.
  double number() const { return std::strtod(std::string(token).c_str(), nullptr); }
};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Value document() {
    Value result = value(0);
    space();
    if (at_ != text_.size()) fail("more text after the end");
    return result;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw NotJson(what + " at byte " + std::to_string(at_));
  }
  bool next_is(char c) const { return at_ < text_.size() && text_[at_] == c; }
  void space() {
    while (next_is(' ') || next_is('\t') || next_is('\n') || next_is('\r')) ++at_;
  }
  void expect(char c) {
    if (!next_is(c)) fail(std::string("expected '") + c + "'");
    ++at_;
  }
  bool word(std::string_view expected) {
    if (text_.substr(at_, expected.size()) != expected) return false;
    at_ += expected.size();
    return true;
  }

  Value value(int depth) {
    if (depth > deepest) fail("nested more than " + std::to_string(deepest) + " deep");
    space();
    const std::size_t begin = at_;
    Value result;
    if (next_is('{')) {
      object(result, depth);
      return result;
    }
    if (next_is('[')) {
      array(result, depth);
      return result;
    }
    if (next_is('"')) {
      result.kind = Value::Kind::string;
      result.text = string();
    } else if (word("null")) {
      result.kind = Value::Kind::null;
    } else if (word("true") || word("false")) {
      result.kind = Value::Kind::boolean;
    } else {
      result.kind = number() ? Value::Kind::integer : Value::Kind::number;
    }
    result.token = text_.substr(begin, at_ - begin);
    return result;
  }

  void object(Value& result, int depth) {
    result.kind = Value::Kind::object;
    ++at_;
    space();
    if (next_is('}')) {
      ++at_;
      return;
    }
    while (true) {
      space();
      if (!next_is('"')) fail("expected a key");
      std::string key = string();
      space();
      expect(':');
      result.members.emplace_back(std::move(key), value(depth + 1));
      space();
      if (next_is('}')) break;
      expect(',');
    }
    ++at_;
    unique_keys(result);
  }
  void unique_keys(const Value& object) const {
    std::vector<std::string_view> keys;
    for (const auto& member : object.members) keys.push_back(member.first);
    std::sort(keys.begin(), keys.end());
    const auto twice = std::adjacent_find(keys.begin(), keys.end());
    if (twice != keys.end()) throw NotJson("key '" + std::string(*twice) + "' is there twice");
  }

  void array(Value& result, int depth) {
    result.kind = Value::Kind::array;
    ++at_;
    space();
    if (next_is(']')) {
      ++at_;
      return;
    }
    while (true) {
      result.items.push_back(value(depth + 1));
      space();
      if (next_is(']')) break;
      expect(',');
    }
    ++at_;
  }

  bool digits() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
    return at_ > begin;
  }
  /// Whether the number is an integer.
  bool number() {
    if (next_is('-')) ++at_;
    if (next_is('0')) {
      ++at_;
    } else if (!digits()) {
      fail("expected a value");
    }
    bool integer = true;
    if (next_is('.')) {
      ++at_;
      integer = false;
      if (!digits()) fail("expected a digit");
    }
    if (next_is('e') || next_is('E')) {
      ++at_;
      integer = false;
      if (next_is('+') || next_is('-')) ++at_;
      if (!digits()) fail("expected a digit");
    }
    return integer;
  }

  unsigned hexadecimal() {
    unsigned code = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      if (at_ >= text_.size()) fail("unfinished character");
      const char c = text_[at_];
      const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
      if (digit < 0) fail("expected four hexadecimal digits");
      code = 16 * code + static_cast<unsigned>(digit);
    }
    return code;
  }
  static void append(std::string& text, unsigned code) {
    if (code < 0x80) {
      text += static_cast<char>(code);
    } else if (code < 0x800) {
      text += {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))};
    } else if (code < 0x10000) {
      text += {static_cast<char>(0xE0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3F)),
               static_cast<char>(0x80 | (code & 0x3F))};
    } else {
      text += {static_cast<char>(0xF0 | code >> 18), static_cast<char>(0x80 | (code >> 12 & 0x3F)),
               static_cast<char>(0x80 | (code >> 6 & 0x3F)), static_cast<char>(0x80 | (code & 0x3F))};
    }
  }
  void escape(std::string& result) {
    if (at_ >= text_.size()) fail("unfinished string");
    const char c = text_[at_++];
    const std::string_view plain = "\"\\/bfnrt", meaning = "\"\\/\b\f\n\r\t";
    if (const auto i = plain.find(c); i != std::string_view::npos) {
      result += meaning[i];
      return;
    }
    if (c != 'u') fail("unknown escape");
    unsigned code = hexadecimal();
    if (code >= 0xDC00 && code < 0xE000) fail("half a character");
    if (code >= 0xD800 && code < 0xDC00) {
      if (!word("\\u")) fail("half a character");
      const unsigned low = hexadecimal();
      if (low < 0xDC00 || low >= 0xE000) fail("half a character");
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    append(result, code);
  }
  std::string string() {
    std::string result;
    ++at_;
    while (!next_is('"')) {
      if (at_ >= text_.size()) fail("unfinished string");
      const char c = text_[at_++];
      if (static_cast<unsigned char>(c) < 0x20) fail("control character in a string");
      if (c == '\\') {
        escape(result);
      } else {
        result += c;
      }
    }
    ++at_;
    return result;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

/// Whether bytes are UTF-8, without overlong forms and halves of surrogate pairs.
inline bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = [&](std::size_t n) -> unsigned {
      return i + n < text.size() ? static_cast<unsigned char>(text[i + n]) : 0;
    };
    const unsigned first = byte(0);
    const std::size_t length = first < 0x80 ? 1 : first >= 0xC2 && first < 0xE0 ? 2 : first >= 0xE0 && first < 0xF0 ? 3
                               : first >= 0xF0 && first < 0xF5 ? 4 : 0;
    if (length == 0) return false;
    for (std::size_t n = 1; n < length; ++n) {
      if ((byte(n) & 0xC0) != 0x80) return false;
    }
    const unsigned second = byte(1);
    if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) || (first == 0xF0 && second < 0x90) ||
        (first == 0xF4 && second > 0x8F)) {
      return false;
    }
    i += length;
  }
  return true;
}

/// Tokens of the result point into `text`.
inline Value parse(std::string_view text) {
  if (!is_utf8(text)) throw NotJson("not UTF-8");
  return Parser(text).document();
}

}  // namespace parkf::json
