// The bytes of an HTTP/1.1 answer's head, and the reading of a request's.
//
// Purpose: what the connection needs of HTTP's text, apart from its sockets. Thread safety: plain functions.
// Errors: parse_head() says kInvalid (400), kUnsupported (501) with a message for the peer.
#pragma once

#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/http_server.h"

namespace fathom::net {

using BeastHeader = boost::beast::http::request_header<>;

inline std::string_view view(boost::beast::string_view text) {
  return {text.data(), text.size()};
}
std::string lower_case(std::string_view text);  // of ASCII letters, whatever the locale

std::string_view status_reason(int status);
// Status line and header fields, with the empty line that ends them.
// `takes_chunks`: the peer speaks HTTP/1.1, so that a body of unknown length has an end of its own.
std::string render_head(const HttpResponse& response, bool keep_alive, bool takes_chunks = true);
// The handler's error(), with a Retry-After where one is due.
HttpResponse refusal_response(HttpHandler& handler, int status, std::string_view message,
                              std::string_view content_type);
void add_retry_after(HttpResponse& response);  // to a 503 that has none
// Method, target and header fields into `out`; the body is not looked at.
Result<> parse_head(const BeastHeader& message, HttpRequest& out);

// The Content-Type of a header that broke off or is malformed: `parsed` is what was understood, `rest` the bytes
// behind.
std::string content_type_of(const BeastHeader& parsed, std::string_view rest);

}  // namespace fathom::net
