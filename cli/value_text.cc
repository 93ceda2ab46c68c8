#include "cli/value_text.h"

#include <charconv>

#include "cli/text.h"
#include "net/json_writer.h"

namespace fathom::cli {

namespace {

constexpr size_t kMostColumns = 200;

std::string double_text(double value) {
  char buffer[32];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, value);
  return std::string(buffer, end.ptr);
}

// JSON has no such numbers; the server writes these words for them.
std::string string_text(std::string_view text) {
  if (text == "NaN") return "nan";
  if (text == "Infinity") return "inf";
  if (text == "-Infinity") return "-inf";
  return std::string(text);
}

void write(net::JsonWriter& json, const boost::json::value& value);

void write_array(net::JsonWriter& json, const boost::json::array& array) {
  json.begin_array();
  for (const boost::json::value& element : array) write(json, element);
  json.end_array();
}

void write_object(net::JsonWriter& json, const boost::json::object& object) {
  json.begin_object();
  for (const auto& [key, value] : object) write(json.key({key.data(), key.size()}), value);
  json.end_object();
}

// As the server stores lists and maps; the recursion is as deep as the parser allowed.
void write(net::JsonWriter& json, const boost::json::value& value) {
  if (value.is_array()) return write_array(json, value.get_array());
  if (value.is_object()) return write_object(json, value.get_object());
  if (value.is_string()) {
    json.string({value.get_string().data(), value.get_string().size()});
  } else if (value.is_double()) {
    json.real(value.get_double());
  } else {
    json.raw(boost::json::serialize(value));
  }
}

std::string raw_text(const boost::json::value& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return string_text({value.get_string().data(), value.get_string().size()});
  if (value.is_double()) return double_text(value.get_double());
  std::string text;
  net::JsonWriter json(text);
  write(json, value);
  return text;
}

}  // namespace

std::string value_text(const boost::json::value& value) {
  return printable(raw_text(value));
}

std::string short_value_text(const boost::json::value& value) {
  std::string raw = raw_text(value);
  std::string text = printable(raw);
  if (display_width(text) <= kMostColumns) return text;
  return cut_to_width(text, kMostColumns) + " (" + std::to_string(raw.size()) + " bytes; --format json has all)";
}

std::string name_text(std::string_view name) {
  return name.empty() ? "(no name)" : printable(name);
}

std::string short_node_id(std::string_view node_id) {
  return std::string(node_id.substr(0, 8));
}

}  // namespace fathom::cli
