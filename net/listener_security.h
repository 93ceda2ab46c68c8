// ListenerSecurity: what a listener asks of its peers before it hears them: TLS, a token, and the right host name.
//
// Purpose: one value that reaches every listener, HTTP and gRPC. Nulls: no TLS; no token is asked for. Host names are
// for HTTP alone: no browser sends gRPC to another site without asking first, and gRPC refuses that.
// Thread safety: plain values; what they point to is safe from any thread, and may be loaded anew while in use.
#pragma once

#include <memory>
#include <string>

#include "net/allowed_hosts.h"

namespace fathom::net {

class TlsServer;  // net/tls_server.h
class Tokens;     // net/tokens.h

struct ListenerSecurity {
  std::shared_ptr<TlsServer> tls;
  std::shared_ptr<Tokens> tokens;
  // A token file of this host that a client of the same user may read. A listener of this host alone names it to those
  // who come without a token. Empty: none.
  std::string named_token_file;
  AllowedHosts hosts;
};

}  // namespace fathom::net
