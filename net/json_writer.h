// JsonWriter: the one place where fathom writes JSON: compact, streaming, always a valid document.
//
// Purpose: answers are written straight into their bytes, without a tree. Strings that are not UTF-8 get U+FFFD where
// they are broken; 64-bit integers are written exactly; NaN and infinities, which JSON lacks, become strings.
// Thread safety: one thread per writer. Ownership: appends to a string that the caller owns. The caller balances
// begin and end, and gives each member of an object its key first.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace fathom::net {

void append_json_string(std::string& out, std::string_view text);
void append_json_double(std::string& out, double value);

class JsonWriter {
 public:
  explicit JsonWriter(std::string& out) : out_(out) {}

  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }
  JsonWriter& key(std::string_view name);
  JsonWriter& string(std::string_view text);
  JsonWriter& boolean(bool value) { return raw(value ? "true" : "false"); }
  JsonWriter& null() { return raw("null"); }
  JsonWriter& real(double value);
  template <std::integral T>
  JsonWriter& number(T value) {
    return raw(std::to_string(value));
  }
  // Text that is JSON already.
  JsonWriter& raw(std::string_view json);

  // Members of an object, for short.
  JsonWriter& member(std::string_view name, std::string_view text) { return key(name).string(text); }
  JsonWriter& member(std::string_view name, const char* text) { return key(name).string(text); }
  JsonWriter& member(std::string_view name, bool value) { return key(name).boolean(value); }
  template <std::integral T>
  JsonWriter& member(std::string_view name, T value) {
    return key(name).number(value);
  }

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  void separate();

  std::string& out_;
  bool comma_ = false;
};

}  // namespace fathom::net
