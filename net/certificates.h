// Certificates and keys from files, checked before they are used, and told apart by what is wrong with them.
//
// Purpose: what OpenSSL says in codes, said in words with a cure, once for servers and clients. Thread safety: plain
// functions. Errors: kInvalid, naming the flag and the file.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <optional>
#include <string>

#include "base/result.h"
#include "net/certificate_expiry.h"

namespace fathom::net {

// The certificate (with those between it and its CA behind it) and its key into `context`; when the first of them
// expires. `flags` is what the flags that named them begin with ("--tls-"): errors begin with the flag of the file that
// is at fault. Refused: files that cannot be read or are no PEM, a key of another certificate or with a passphrase, a
// certificate that has expired or is not valid yet.
Result<Expiry> use_certificate(boost::asio::ssl::context& context, const std::string& flags,
                               const std::string& certificate, const std::string& key);
// CAs that peers' certificates must be signed by; when the last of them expires.
Result<Expiry> trust(boost::asio::ssl::context& context, const std::string& flag, const std::string& ca);

// What is wrong with a peer's certificate that `store` has just refused, for people: "it expired on ...".
std::string certificate_fault(X509_STORE_CTX* store);
// What is wrong with the certificate that a connection's peer has shown, as `context` would have it; nothing where it
// is right, or none is asked for.
std::optional<std::string> peer_fault(SSL* connection, SSL_CTX* context);
// The names that a certificate is for: "a.example, 127.0.0.1".
std::string names_of(const X509* certificate);
std::string expiry_text(const X509* certificate);

}  // namespace fathom::net
