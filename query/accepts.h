// What an asker says that it takes.
//
// Thread safety: plain functions.
#pragma once

#include <string_view>

#include "net/http_server.h"

namespace fathom::query {

// "gzip;q=0" is a rarity that says no; anything else that names gzip says yes.
inline bool takes_gzip(const net::HttpRequest& request) {
  std::string_view accepted = request.header("accept-encoding");
  return accepted.find("gzip") != std::string_view::npos && accepted.find("gzip;q=0") == std::string_view::npos;
}

// As a browser that was given an address says; programs take anything, and say so.
inline bool takes_html(const net::HttpRequest& request) {
  return request.header("accept").find("text/html") != std::string_view::npos;
}

}  // namespace fathom::query
