#include "collector/otlp/json_cursor.h"

#include <bitset>

#include "base/utf8.h"

namespace fathom::collector {

namespace {

// Skipping follows nested values this deep; what OTLP itself needs is far less.
constexpr size_t kMaxDepth = 512;

constexpr uint32_t kReplacement = 0xfffd;

bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_high_surrogate(uint32_t unit) {
  return unit >= 0xd800 && unit < 0xdc00;
}
bool is_low_surrogate(uint32_t unit) {
  return unit >= 0xdc00 && unit < 0xe000;
}

}  // namespace

bool JsonCursor::fail(std::string_view what) {
  if (!failed()) error_ = "JSON, byte " + std::to_string(at_) + ": " + std::string(what);
  at_ = text_.size();
  return false;
}

// The next character that is not white space; zero at the end.
char JsonCursor::peek() {
  while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  return at_ < text_.size() ? text_[at_] : '\0';
}

bool JsonCursor::take(char c) {
  if (peek() != c || at_ >= text_.size()) return false;
  ++at_;
  return true;
}

bool JsonCursor::member(std::string_view& key, std::string& scratch) {
  if (!at_string()) return fail("expected a member's name");
  key = string(scratch);
  if (failed()) return false;
  return take(':') || fail("expected ':'");
}

bool JsonCursor::begin_object(std::string_view& key, std::string& scratch) {
  if (!take('{')) return fail("expected an object");
  return !take('}') && member(key, scratch);
}

bool JsonCursor::next_member(std::string_view& key, std::string& scratch) {
  if (failed() || take('}')) return false;
  if (!take(',')) return fail("expected ',' or '}'");
  return member(key, scratch);
}

bool JsonCursor::begin_array() {
  if (!take('[')) return fail("expected an array");
  return !take(']');
}

bool JsonCursor::next_element() {
  if (failed() || take(']')) return false;
  return take(',') || fail("expected ',' or ']'");
}

bool JsonCursor::literal(std::string_view word) {
  if (text_.substr(at_, word.size()) != word) return fail("expected a value");
  at_ += word.size();
  return true;
}

bool JsonCursor::take_null() {
  return peek() == 'n' && literal("null");
}

bool JsonCursor::boolean() {
  char first = peek();
  if (first != 't' && first != 'f') return fail("expected true or false");
  return literal(first == 't' ? "true" : "false") && first == 't';
}

void JsonCursor::digits() {
  if (at_ >= text_.size() || !is_digit(text_[at_])) {
    fail("expected a digit");
    return;
  }
  while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
}

std::string_view JsonCursor::number() {
  char first = peek();
  if (first != '-' && !is_digit(first)) return fail("expected a number"), std::string_view();
  auto next_is = [&](char a, char b) { return at_ < text_.size() && (text_[at_] == a || text_[at_] == b); };
  size_t begin = at_;
  if (first == '-') ++at_;
  // No digit may follow a leading zero; what would then stand there is no ',' either, and fails as such.
  next_is('0', '0') ? void(++at_) : digits();
  if (next_is('.', '.')) ++at_, digits();
  if (next_is('e', 'E')) {
    ++at_;
    if (next_is('+', '-')) ++at_;
    digits();
  }
  return failed() ? std::string_view() : text_.substr(begin, at_ - begin);
}

std::string_view JsonCursor::string(std::string& scratch) {
  if (!take('"')) return fail("expected a string"), std::string_view();
  for (size_t begin = at_; at_ < text_.size(); ++at_) {
    char c = text_[at_];
    if (c == '"') return text_.substr(begin, at_++ - begin);
    if (c == '\\') return escaped(scratch, begin);
    if (static_cast<uint8_t>(c) < 0x20) return fail("a control character in a string"), std::string_view();
  }
  return fail("a string without an end"), std::string_view();
}

std::string_view JsonCursor::escaped(std::string& scratch, size_t begin) {
  scratch.assign(text_, begin, at_ - begin);
  while (at_ < text_.size()) {
    char c = text_[at_++];
    if (c == '"') return scratch;
    if (static_cast<uint8_t>(c) < 0x20) return fail("a control character in a string"), std::string_view();
    if (c != '\\') {
      scratch.push_back(c);
    } else if (!escape(scratch)) {
      return {};
    }
  }
  return fail("a string without an end"), std::string_view();
}

bool JsonCursor::escape(std::string& out) {
  static constexpr std::string_view kNames = "\"\\/bfnrt";
  static constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  char name = at_ < text_.size() ? text_[at_++] : '\0';
  if (name == 'u') return unicode(out);
  size_t which = kNames.find(name);
  if (which == std::string_view::npos) return fail("an unknown escape");
  out.push_back(kMeanings[which]);
  return true;
}

bool JsonCursor::hex4(uint32_t& unit) {
  unit = 0;
  for (int i = 0; i < 4; ++i) {
    char c = at_ < text_.size() ? text_[at_++] : '\0';
    char lower = static_cast<char>(c | 0x20);
    if (!is_digit(c) && !(lower >= 'a' && lower <= 'f')) return fail("expected four hexadecimal digits");
    unit = unit << 4 | static_cast<uint32_t>(is_digit(c) ? c - '0' : lower - 'a' + 10);
  }
  return true;
}

bool JsonCursor::unicode(std::string& out) {
  uint32_t unit;
  if (!hex4(unit)) return false;
  while (is_high_surrogate(unit)) {
    uint32_t low = 0;
    if (text_.substr(at_, 2) != "\\u") break;
    at_ += 2;
    if (!hex4(low)) return false;
    if (is_low_surrogate(low)) {
      append_utf8(out, 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00));
      return true;
    }
    append_utf8(out, kReplacement);
    unit = low;
  }
  append_utf8(out, is_high_surrogate(unit) || is_low_surrogate(unit) ? kReplacement : unit);
  return true;
}

bool JsonCursor::skip_scalar(char first) {
  // Skipped strings are checked as read ones are; what they say goes nowhere.
  std::string unused;
  if (first == '"') return string(unused), !failed();
  if (first == 't' || first == 'f') return boolean(), !failed();
  if (first == 'n') return literal("null");
  return number(), !failed();
}

// Not recursive: the input decides how deep values nest. `objects` remembers which of the open brackets are braces.
void JsonCursor::skip_value() {
  std::bitset<kMaxDepth> objects;
  size_t depth = 0;
  std::string_view key;
  std::string scratch;
  do {
    char first = peek();
    bool more = false;
    if (first == '{' || first == '[') {
      if (depth == kMaxDepth) return void(fail("values are nested too deeply"));
      objects[depth++] = first == '{';
      more = first == '{' ? begin_object(key, scratch) : begin_array();
    } else if (!skip_scalar(first)) {
      return;
    } else if (depth == 0) {
      return;
    } else {
      more = objects[depth - 1] ? next_member(key, scratch) : next_element();
    }
    while (!more && !failed() && --depth > 0) more = objects[depth - 1] ? next_member(key, scratch) : next_element();
  } while (depth > 0 && !failed());
}

bool JsonCursor::expect_end() {
  peek();
  return failed() ? false : at_ == text_.size() || fail("text after the end");
}

}  // namespace fathom::collector
