#include "cli/exact_json.h"

#include <boost/json/basic_parser_impl.hpp>
#include <charconv>
#include <string>

#include "net/json_events.h"

namespace fathom::cli {

namespace {

// Values gather on a stack, as in boost::json::parser.
struct Builder : net::JsonEvents {
  bool on_object_end(size_t size, Fault&) {
    stack.push_object(size);
    return kept();
  }
  bool on_array_end(size_t size, Fault&) {
    stack.push_array(size);
    return kept();
  }
  bool on_key_part(Text text, size_t, Fault&) {
    stack.push_chars(text);
    return kept();
  }
  bool on_key(Text text, size_t, Fault&) {
    stack.push_key(text);
    return kept();
  }
  bool on_string_part(Text text, size_t, Fault&) {
    stack.push_chars(text);
    return kept();
  }
  bool on_string(Text text, size_t, Fault&) {
    stack.push_string(text);
    return kept();
  }
  bool on_number_part(Text text, Fault&) {
    number.append(text.data(), text.size());
    return true;
  }
  bool on_int64(int64_t value, Text, Fault&) {
    stack.push_int64(value);
    return kept();
  }
  bool on_uint64(uint64_t value, Text, Fault&) {
    stack.push_uint64(value);
    return kept();
  }
  bool on_double(double value, Text text, Fault&) {
    number.append(text.data(), text.size());
    std::from_chars(number.data(), number.data() + number.size(), value);  // out of range: theirs stays
    stack.push_double(value);
    return kept();
  }
  bool on_bool(bool value, Fault&) {
    stack.push_bool(value);
    return kept();
  }
  bool on_null(Fault&) {
    stack.push_null();
    return kept();
  }

  bool kept() {
    number.clear();
    return true;
  }

  boost::json::value_stack stack;
  std::string number;  // the parts of one that came so far
};

}  // namespace

Result<boost::json::value> parse_exactly(std::string_view text) {
  boost::json::basic_parser<Builder> parser(boost::json::parse_options{});
  parser.handler().stack.reset();
  boost::json::error_code fault;
  size_t used = parser.write_some(false, text.data(), text.size(), fault);
  if (fault || used != text.size()) return corrupt("the answer is not JSON");
  return parser.handler().stack.release();
}

}  // namespace fathom::cli
