// The line of JSON with which a program says where it listens: {"http":"HOST:PORT","otlp_grpc":...,"otlp_http":...,
// "query_grpc":...,"ingest":"HOST:PORT","agent_socket":"PATH"}; "query_grpc" where that was asked for.
//
// Purpose: `fathom-server --ready-fd` writes it without the last member, `fathom-agent --ready-fd` with the last only;
// `fathom up` reads both and prints all of it, for scripts. Members without a value are left out. Thread safety: plain
// values. Errors: kCorrupt for a line that is not this, or lacks what that program must say.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace fathom::cli {

struct Addresses {
  std::string http;
  std::string otlp_grpc;
  std::string otlp_http;
  std::string query_grpc;    // empty: no such listener
  std::string ingest;        // agents' spans
  std::string agent_socket;  // a path
  bool operator==(const Addresses&) const = default;
};

std::string addresses_line(const Addresses& addresses);    // with its newline
Result<Addresses> parse_addresses(std::string_view line);  // of a server, or of `fathom up`
// Of an agent: its socket.
Result<std::string> parse_agent_socket(std::string_view line);

}  // namespace fathom::cli
