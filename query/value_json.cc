#include "query/value_json.h"

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <unordered_map>

#include "net/json_events.h"

namespace fathom::query {

namespace {

constexpr size_t kDepth = 20;          // of a value, so that common readers take the whole document
constexpr size_t kFewAttributes = 32;  // up to here comparing pairs is cheaper than a table

bool is_json_text(std::string_view text) {
  boost::json::parse_options options;
  options.max_depth = kDepth;
  boost::json::basic_parser<net::JsonEvents> parser(options);
  boost::json::error_code fault;
  size_t used = parser.write_some(false, text.data(), text.size(), fault);
  return !fault && used == text.size();
}

bool has_later(std::span<const store::AttributeView> attributes, size_t index) {
  return std::any_of(attributes.begin() + static_cast<ptrdiff_t>(index) + 1, attributes.end(),
                     [&](const auto& other) { return other.key == attributes[index].key; });
}

// Calls `take` with each attribute whose key does not come again, in order.
template <typename Take>
void for_each_last(std::span<const store::AttributeView> attributes, Take take) {
  if (attributes.size() <= kFewAttributes) {
    for (size_t i = 0; i < attributes.size(); ++i) {
      if (!has_later(attributes, i)) take(attributes[i]);
    }
    return;
  }
  std::unordered_map<std::string_view, size_t> last;
  for (size_t i = 0; i < attributes.size(); ++i) last[attributes[i].key] = i;
  for (size_t i = 0; i < attributes.size(); ++i) {
    if (last[attributes[i].key] == i) take(attributes[i]);
  }
}

}  // namespace

void write_value(net::JsonWriter& json, const store::ValueView& value) {
  switch (value.type) {
    case store::ValueType::kEmpty:
      json.null();
      return;
    case store::ValueType::kBool:
      json.boolean(value.as_bool());
      return;
    case store::ValueType::kInt:
      json.number(value.as_int());
      return;
    case store::ValueType::kDouble:
      json.real(value.as_double());
      return;
    case store::ValueType::kBytes:
      json.string(store::value_text(value));
      return;
    case store::ValueType::kJson:
      is_json_text(value.text) ? json.raw(value.text) : json.string(value.text);
      return;
    case store::ValueType::kString:
    case store::ValueType::kCut:
      json.string(value.text);
      return;
  }
}

void write_attributes(net::JsonWriter& json, std::span<const store::AttributeView> attributes) {
  json.begin_object();
  for_each_last(attributes, [&json](const store::AttributeView& attribute) {
    write_value(json.key(attribute.key), attribute.value);
  });
  json.end_object();
}

void write_cut_keys(net::JsonWriter& json, std::span<const store::AttributeView> attributes) {
  auto is_cut = [](const auto& attribute) { return attribute.value.type == store::ValueType::kCut; };
  if (std::none_of(attributes.begin(), attributes.end(), is_cut)) return;
  json.key("cut_attributes").begin_array();
  for (const auto& attribute : attributes) {
    if (is_cut(attribute)) json.string(attribute.key);
  }
  json.end_array();
}

}  // namespace fathom::query
