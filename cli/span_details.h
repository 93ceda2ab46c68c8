// What a span says about itself, as lines to stand under its line of the tree.
//
// Purpose: `fathom trace --attributes`: attributes, events, links, losses, and which resource sent it; resources are
// numbered, and written out once each. Every name and value has gone through printable(). Thread safety: pure
// functions.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fathom::cli {

struct DetailLine {
  std::string text;
  std::optional<uint64_t> at_unix_nano = std::nullopt;  // when, for an event, by the span's own clock
};

// `span` is an element of the document's "spans".
std::vector<DetailLine> span_details(const boost::json::value& span);

// The span's entry in the document's "resources"; null: the span names none.
const boost::json::value& resource_of(const boost::json::value& document, const boost::json::value& span);

// One of the document's "resources".
std::vector<std::string> resource_lines(const boost::json::value& resource);

}  // namespace fathom::cli
