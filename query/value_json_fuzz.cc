// Attributes of any bytes, of every type, twice: always a valid JSON document with one member per key.
#include <boost/json/parse.hpp>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "query/value_json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fathom;
  std::string_view input(reinterpret_cast<const char*>(data), size);
  std::string_view key = input.substr(0, size / 4);
  std::vector<store::AttributeView> attributes;
  for (uint8_t type = 0; type <= static_cast<uint8_t>(store::ValueType::kCut); ++type) {
    store::AttributeView attribute{key.substr(0, type),
                                   {static_cast<store::ValueType>(type), input.substr(size / 4), 0}};
    for (char c : input.substr(0, 8)) attribute.value.bits = attribute.value.bits << 8 | static_cast<uint8_t>(c);
    attributes.push_back(attribute);
  }
  std::string out;
  net::JsonWriter json(out);
  query::write_attributes(json, attributes);
  boost::system::error_code fault;
  boost::json::parse(out, fault);
  if (fault) std::abort();
  return 0;
}
