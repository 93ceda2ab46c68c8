// A small blocking HTTP client for the command line, tests and benchmarks: one connection, kept alive between calls.
//
// Thread safety: one thread per client. Errors: kUnavailable when nobody answers (the message names the address and the
// cure; also where TLS is not agreed upon), kDeadline, kInvalid for an address that cannot be one, kCorrupt for an
// answer that is not HTTP/1.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "net/tls_client.h"

namespace fathom::net {

struct HttpReply {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;
  std::string why_no_token;  // of an answer 401: why a token that the server named was not sent (local_token.h)
};

class HttpClient {
 public:
  // "http://127.0.0.1:7070", "https://traces.example:7070" or "127.0.0.1:7070".
  explicit HttpClient(std::string url, uint64_t timeout_nano = 30'000'000'000, ClientSecurity security = {});
  ~HttpClient();
  Result<HttpReply> get(std::string_view target);
  Result<HttpReply> post(std::string_view target, std::string_view content_type, std::string_view body,
                         const std::vector<std::pair<std::string, std::string>>& headers = {});
  Result<HttpReply> put(std::string_view target, std::string_view content_type, std::string_view body);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

std::string percent_encode(std::string_view text);

}  // namespace fathom::net
