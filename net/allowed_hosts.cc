#include "net/allowed_hosts.h"

#include <algorithm>
#include <boost/asio/ip/address.hpp>

#include "base/text.h"
#include "net/http_server.h"
#include "net/http_text.h"

namespace fathom::net {

namespace {

constexpr std::string_view kAny = "*";

// Without the port, and IPv6 without its brackets.
std::string name_of(std::string_view host) {
  auto parts = split_address(host);
  if (!parts) parts = split_address(std::string(host) + ":80");
  return parts ? lower_case(parts->first) : "";
}

bool is_address(const std::string& name) {
  boost::system::error_code fault;
  boost::asio::ip::make_address(name, fault);
  return !fault;
}

// "http://host:7070" is of the host "host:7070"; "null" is of none.
bool is_of_host(std::string_view origin, std::string_view host) {
  const size_t scheme = origin.find("://");
  return scheme != std::string_view::npos && lower_case(origin.substr(scheme + 3)) == lower_case(host);
}

// A link to a page, which its site cannot read.
bool follows_link(const HttpRequest& request) {
  return (request.method == "GET" || request.method == "HEAD") && request.header("sec-fetch-mode") == "navigate" &&
         request.header("sec-fetch-dest") == "document";
}

bool is_of_another_site(const HttpRequest& request) {
  const std::string_view origin = request.header("origin");
  if (!origin.empty()) return !is_of_host(origin, request.header("host"));
  const std::string_view site = request.header("sec-fetch-site");
  const bool is_own = site.empty() || site == "same-origin" || site == "none";
  return !is_own && !follows_link(request);
}

}  // namespace

AllowedHosts::AllowedHosts(std::vector<std::string> names) : names_(std::move(names)) {
  for (std::string& name : names_) name = lower_case(name);
}

AllowedHosts AllowedHosts::any_without_origin() {
  AllowedHosts hosts;
  hosts.any_without_origin_ = true;
  return hosts;
}

bool AllowedHosts::allows(std::string_view host) const {
  const std::string name = name_of(host);
  if (name == "localhost" || is_address(name)) return true;
  return std::ranges::any_of(names_, [&](const std::string& allowed) { return allowed == kAny || allowed == name; });
}

// A request without a Host header is of a program that speaks HTTP/1.0.
std::optional<std::string> AllowedHosts::refuse(const HttpRequest& request, bool allows_origin) const {
  const std::string_view host = request.header("host");
  const bool any = host.empty() || (any_without_origin_ && (allows_origin || request.header("origin").empty()));
  if (!any && !allows(host)) {
    const std::string name = printable(name_of(host));
    return "requests for the host '" + name + "' are not answered; if this host has that name, start the program " +
           "with --allowed-host " + name;
  }
  if (!allows_origin && is_of_another_site(request)) return "requests by pages of other sites are not answered";
  return std::nullopt;
}

}  // namespace fathom::net
