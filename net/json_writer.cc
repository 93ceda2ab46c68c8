#include "net/json_writer.h"

#include <charconv>
#include <cmath>
#include <cstdio>

#include "base/utf8.h"

namespace fathom::net {

namespace {

bool is_plain(char c) {
  return static_cast<uint8_t>(c) >= 0x20 && static_cast<uint8_t>(c) < 0x7f && c != '"' && c != '\\';
}

void append_escape(std::string& out, char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  char buffer[8];
  std::snprintf(buffer, sizeof buffer, "\\u%04x", static_cast<uint8_t>(c));
  out += buffer;
}

// Appends what `text` begins with and is not plain, and says how many bytes that was.
size_t append_special(std::string& out, std::string_view text) {
  if (static_cast<uint8_t>(text[0]) < 0x80) {
    append_escape(out, text[0]);
    return 1;
  }
  size_t length = utf8_length(text);
  out += length == 0 ? "\xef\xbf\xbd" : text.substr(0, length);
  return length == 0 ? 1 : length;
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out.push_back('"');
  size_t at = 0;
  while (at < text.size()) {
    size_t run = at;
    while (run < text.size() && is_plain(text[run])) ++run;
    out.append(text, at, run - at);
    at = run;
    if (at < text.size()) at += append_special(out, text.substr(at));
  }
  out.push_back('"');
}

void append_json_double(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "\"NaN\"";
    return;
  }
  if (std::isinf(value)) {
    out += value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
    return;
  }
  char buffer[32];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  std::string_view text(buffer, static_cast<size_t>(end - buffer));
  out += text;
  // A double stays one for readers that tell 1 from 1.0.
  if (text.find_first_of(".e") == std::string_view::npos) out += ".0";
}

void JsonWriter::separate() {
  if (comma_) out_.push_back(',');
  comma_ = true;
}

JsonWriter& JsonWriter::open(char bracket) {
  separate();
  out_.push_back(bracket);
  comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  out_.push_back(bracket);
  comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  append_json_string(out_, name);
  out_.push_back(':');
  comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::string(std::string_view text) {
  separate();
  append_json_string(out_, text);
  return *this;
}

JsonWriter& JsonWriter::real(double value) {
  separate();
  append_json_double(out_, value);
  return *this;
}

JsonWriter& JsonWriter::raw(std::string_view json) {
  separate();
  out_ += json;
  return *this;
}

}  // namespace fathom::net
