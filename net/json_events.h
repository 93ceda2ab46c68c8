// JsonEvents: what Boost.JSON's basic_parser calls, all of it answered with "go on".
//
// Purpose: a handler derives from this and hides the calls that it cares about; the parser finds them by name, not by
// virtual functions. Thread safety, ownership: as the handler has them.
#pragma once

#include <boost/json/error.hpp>
#include <boost/json/string_view.hpp>
#include <cstddef>
#include <cstdint>

namespace fathom::net {

struct JsonEvents {
  static constexpr size_t max_array_size = SIZE_MAX;
  static constexpr size_t max_object_size = SIZE_MAX;
  static constexpr size_t max_string_size = SIZE_MAX;
  static constexpr size_t max_key_size = SIZE_MAX;
  using Text = boost::json::string_view;
  using Fault = boost::json::error_code;

  bool on_document_begin(Fault&) { return true; }
  bool on_document_end(Fault&) { return true; }
  bool on_object_begin(Fault&) { return true; }
  bool on_object_end(size_t, Fault&) { return true; }
  bool on_array_begin(Fault&) { return true; }
  bool on_array_end(size_t, Fault&) { return true; }
  bool on_key_part(Text, size_t, Fault&) { return true; }
  bool on_key(Text, size_t, Fault&) { return true; }
  bool on_string_part(Text, size_t, Fault&) { return true; }
  bool on_string(Text, size_t, Fault&) { return true; }
  bool on_number_part(Text, Fault&) { return true; }
  bool on_int64(int64_t, Text, Fault&) { return true; }
  bool on_uint64(uint64_t, Text, Fault&) { return true; }
  bool on_double(double, Text, Fault&) { return true; }
  bool on_bool(bool, Fault&) { return true; }
  bool on_null(Fault&) { return true; }
  bool on_comment_part(Text, Fault&) { return true; }
  bool on_comment(Text, Fault&) { return true; }
};

}  // namespace fathom::net
