// ControlRoutes: the addresses that make nodes do something: POST /api/v1/captures, and /api/v1/tracepoints
// with its rules.
//
// Purpose: what is asked is handed to a Control, and answered when the nodes have answered; no thread waits meanwhile.
// These addresses change what programs do, and the listener has no names of users: whoever reaches it may ask. So that
// pages of other sites in a browser on the same host may not, a POST must say Content-Type application/json, which a
// browser sends to another site only after asking (and nobody here answers that with yes), and an Origin, where there
// is one, must be the very host that is asked, as an IP address or localhost: a name may be of a stranger's site whose
// name server has said meanwhile that it is here (DNS rebinding). Thread safety: all of it. Ownership: shares the
// Control. Errors: as control_asks.h and Control say; kUnsupported without a Control.
#pragma once

#include <memory>
#include <optional>

#include "net/http_server.h"
#include "query/control.h"

namespace fathom::query {

class ControlRoutes {
 public:
  explicit ControlRoutes(std::shared_ptr<Control> control) : control_(std::move(control)) {}

  static bool takes(const net::HttpRequest& request);
  // Why a request that it takes must not be handled, as far as its header says.
  static std::optional<net::HttpResponse> refuse(const net::HttpRequest& request);
  void handle(const net::HttpRequest& request, net::HttpRespond respond) const;

 private:
  void capture(const net::HttpRequest& request, net::HttpRespond respond) const;
  void tracepoints(const net::HttpRequest& request, net::HttpRespond respond) const;
  void tracepoint_rules(const net::HttpRequest& request, net::HttpRespond respond) const;

  const std::shared_ptr<Control> control_;
};

}  // namespace fathom::query
