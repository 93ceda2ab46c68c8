// PageLinks: gives the page in a browser the token of the person who opens it, without the token in an address.
//
// Purpose: POST /api/v1/page-links, with a token, answers with a code. The command line prints the page's address with
// the code behind '#', which browsers do not send. The page posts the code to /api/v1/page-links/CODE, which needs no
// token, and gets the token with which the code was made. A code works once, and for kLifeNano. Thread safety: all of
// it. Bounds: kMost codes; the oldest makes room. Errors: 404 for a code that is unknown, used or too old.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "base/sha256.h"
#include "net/http_server.h"

namespace fathom::query {

class PageLinks {
 public:
  static constexpr uint64_t kLifeNano = 600'000'000'000;
  static constexpr size_t kMost = 256;

  // `now_unix_nano`: the wall clock.
  explicit PageLinks(std::function<uint64_t()> now_unix_nano) : now_unix_nano_(std::move(now_unix_nano)) {}

  static bool takes(const net::HttpRequest& request);
  // Whether it is the request of a page that has only a code.
  static bool is_open(const net::HttpRequest& request);
  net::HttpResponse answer(const net::HttpRequest& request);

 private:
  struct Link {
    Sha256 code;  // its digest, so that a comparison shows nothing of it
    std::string token;
    uint64_t expires_unix_nano = 0;
  };
  net::HttpResponse make(const net::HttpRequest& request);
  net::HttpResponse redeem(const std::string& code);
  std::optional<std::string> take_token(const std::string& code);

  const std::function<uint64_t()> now_unix_nano_;
  std::mutex mutex_;
  std::deque<Link> links_;  // oldest first
};

}  // namespace fathom::query
