// The line of JSON with which a server says where it listens: {"http":"HOST:PORT","otlp_grpc":...,"otlp_http":...}, and
// "query_grpc" where that was asked for.
//
// Purpose: `fathom-server --ready-fd` writes it, `fathom up` reads it and prints its own, scripts read that.
// Thread safety: plain values. Errors: kCorrupt for a line that is not this.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace fathom::cli {

struct Addresses {
  std::string http;
  std::string otlp_grpc;
  std::string otlp_http;
  std::string query_grpc;  // empty: no such listener
  bool operator==(const Addresses&) const = default;
};

std::string addresses_line(const Addresses& addresses);  // with its newline
Result<Addresses> parse_addresses(std::string_view line);

}  // namespace fathom::cli
