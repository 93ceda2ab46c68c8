// ListenerSecurity: what a listener asks of its peers before it hears them: TLS, and a token.
//
// Purpose: one value that reaches every listener, HTTP and gRPC. Nulls: no TLS; no token is asked for.
// Thread safety: plain values; what they point to is safe from any thread, and may be loaded anew while in use.
#pragma once

#include <memory>

namespace fathom::net {

class TlsServer;  // net/tls_server.h
class Tokens;     // net/tokens.h

struct ListenerSecurity {
  std::shared_ptr<TlsServer> tls;
  std::shared_ptr<Tokens> tokens;
};

}  // namespace fathom::net
