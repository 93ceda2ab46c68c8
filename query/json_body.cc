#include "query/foreign_page.h"

#include <arpa/inet.h>

#include <string>

#include "net/http_text.h"

namespace fathom::query {

namespace {

bool is_json_type(std::string_view content_type) {
  std::string type = net::lower_case(content_type.substr(0, content_type.find(';')));
  while (!type.empty() && type.back() == ' ') type.pop_back();
  return type == "application/json";
}

// "http://host:7070" is of the host "host:7070"; "null" is of none.
bool is_of_host(std::string_view origin, std::string_view host) {
  size_t scheme = origin.find("://");
  if (scheme == std::string_view::npos || host.empty()) return false;
  return net::lower_case(origin.substr(scheme + 3)) == net::lower_case(host);
}

// Without the port, and IPv6 without its brackets.
std::string host_name_of(std::string_view host) {
  auto parts = net::split_address(host);
  if (!parts) parts = net::split_address(std::string(host) + ":80");
  return parts ? net::lower_case(parts->first) : "";
}

// One that says where it is by itself. Any other name is its owner's to point here, with a page of theirs behind it.
bool needs_no_name_server(std::string_view host) {
  std::string name = host_name_of(host);
  in6_addr any;
  return name == "localhost" || ::inet_pton(AF_INET, name.c_str(), &any) == 1 ||
         ::inet_pton(AF_INET6, name.c_str(), &any) == 1;
}

bool is_own_page(std::string_view origin, std::string_view host) {
  return is_of_host(origin, host) && needs_no_name_server(host);
}

}  // namespace

std::optional<net::HttpResponse> refuse_foreign_page(const net::HttpRequest& request) {
  std::string_view origin = request.header("origin");
  if (origin.empty() || is_own_page(origin, request.header("host"))) return std::nullopt;
  return net::error_response(403, "pages of another site may not ask for this, nor those of a host by name");
}

std::optional<net::HttpResponse> refuse_other_than_json(const net::HttpRequest& request) {
  if (is_json_type(request.header("content-type"))) return std::nullopt;
  return net::error_response(415, "the body must be JSON: say Content-Type: application/json");
}

}  // namespace fathom::query
