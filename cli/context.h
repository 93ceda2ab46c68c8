// Context: everything that a subcommand takes from the outside world, so that tests can hand it another one.
//
// Ownership: the caller's, for the length of one run. Thread safety: one thread. `out` is the answer and nothing else,
// so that it can be piped; everything said to the person goes to `err`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/http_client.h"

namespace fathom::cli {

// Fetches one target ("/api/v1/slowest?...") of the server that it was made for.
using HttpGet = std::function<Result<net::HttpReply>(std::string_view target)>;
// Posts a JSON document to one.
using HttpPost = std::function<Result<net::HttpReply>(std::string_view target, std::string_view json)>;
// Puts bytes to one.
using HttpPut = std::function<Result<net::HttpReply>(std::string_view target, std::string_view bytes)>;

struct Context {
  std::function<void(std::string_view)> out;
  std::function<void(std::string_view)> err;
  std::function<std::optional<std::string>(const char*)> env;  // nothing where it is empty, too
  std::function<bool(const char*)> env_is_empty;               // set, to nothing
  std::function<HttpGet(const std::string& url, uint64_t timeout_nano, const net::ClientSecurity&)> connect;
  std::function<HttpPost(const std::string& url, uint64_t timeout_nano, const net::ClientSecurity&)> connect_post;
  std::function<HttpPut(const std::string& url, uint64_t timeout_nano, const net::ClientSecurity&)> connect_put;
  std::function<uint64_t()> now_unix_nano;
  std::function<void(uint64_t nano)> sleep;
  bool colour = false;     // standard output is a terminal that wants it
  size_t columns = 0;      // of the terminal; 0: not a terminal, lines may be of any length
  std::string executable;  // of this program, absolute; siblings are found beside it

  void fail(std::string_view message) const { err("fathom: " + std::string(message) + "\n"); }
};

// The process's own streams, environment, clock and network.
Context process_context();

}  // namespace fathom::cli
