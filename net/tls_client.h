// ClientSecurity: what fathom's own programs show to a server, and what they want of it.
//
// Thread safety: plain values. Errors: kInvalid, naming the file or the flag.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "net/scopes.h"

namespace fathom::net {

struct ClientSecurity {
  std::string ca;           // PEM; the server's certificate must be signed by it; empty: by one that this host trusts
  std::string certificate;  // PEM, shown to a server that asks for it
  std::string key;
  std::string token_file;              // net/tokens.h; the token that is sent
  Scope scope = Scope::kQuery;         // of the token: the file's first one that has it, or else its first one
  bool finds_token = false;            // without a token_file: that of a server on this host (net/local_token.h)
  std::string flags = "--";            // what the flags of these begin with, for messages that name a cure
  std::string address_flag = "--url";  // the one that says where the server is, likewise

  bool operator==(const ClientSecurity&) const = default;
};

// Whether all the files can be used.
Result<> check(const ClientSecurity& security);
Result<std::string> first_token(const ClientSecurity& security);  // empty without a token_file

// Tries a handshake of TLS with "HOST:PORT", and says what is wrong; offers `protocol` by ALPN.
Result<> try_tls(const std::string& address, const ClientSecurity& security, const std::string& protocol,
                 uint64_t timeout_nano);

}  // namespace fathom::net
