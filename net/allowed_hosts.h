// AllowedHosts: which requests a listener answers, by what browsers say about where they come from.
//
// Purpose: no page of another site reads or writes here through the browser of somebody who reaches the listener.
//  - Host: the owner of a page may let its name resolve to this address (DNS rebinding). So of names only localhost and
//    configured ones are answered. An IP address is not resolved, and is always answered.
//  - Origin: a browser names the site of the page. It must be this host, unless the handler allows it (CORS).
//  - Sec-Fetch-Site: the same for requests without an Origin. A link from another site is answered.
// Programs other than browsers send neither Origin nor Sec-Fetch-Site. Thread safety: constant. Units: names without
// ports, in any case. Errors: the reason is for the sender.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fathom::net {

struct HttpRequest;

class AllowedHosts {
 public:
  AllowedHosts() = default;  // IP addresses and localhost
  // And these; "*": every name.
  explicit AllowedHosts(std::vector<std::string> names);
  // Every name, except for requests with an Origin that the handler does not allow: browsers send it with requests that
  // may change something.
  static AllowedHosts any_without_origin();

  bool has_names() const { return !names_.empty(); }
  bool allows(std::string_view host) const;  // a Host header, with or without a port
  // Nothing if the request may be answered. `allows_origin`: the handler does.
  std::optional<std::string> refuse(const HttpRequest& request, bool allows_origin) const;

 private:
  std::vector<std::string> names_;  // in lower case
  bool any_without_origin_ = false;
};

}  // namespace fathom::net
