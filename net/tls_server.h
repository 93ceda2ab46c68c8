// TlsServer: the certificate that listeners show, and the CA that they ask peers' certificates of; loaded anew while in
// use.
//
// TLS 1.2 and 1.3. Thread safety: all of it; connections keep the context that they began with. Ownership: shared by
// the listeners. Errors: kInvalid, naming the flag, the file and the cure.
// Metrics: fathom_tls_certificate_expires_seconds, in Unix time.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/certificate_expiry.h"
#include "net/watchers.h"

namespace fathom::net {

struct TlsFiles {
  std::string certificate;  // PEM, those between it and its CA behind it
  std::string key;
  std::string client_ca;         // peers must show a certificate of it; empty: they need none
  std::string flags = "--tls-";  // what the flags of these begin with, for messages
};

class TlsServer {
 public:
  // What files had: nothing of it is in use before use().
  struct Loaded {
    std::shared_ptr<boost::asio::ssl::context> context;
    std::vector<Expiry> expiries;  // of the certificate, then of the CA
  };

  static Result<std::shared_ptr<TlsServer>> load(TlsFiles files);
  Result<Loaded> read() const;  // of the files as they are now
  void use(Loaded loaded);      // tells who watches, and warns in the log when something of it ends soon
  // `told` is called when another context is in use.
  [[nodiscard]] Watchers::Watch watch(Watchers::Told told) { return watchers_.add(std::move(told)); }
  void warn_of_expiry() const;
  std::shared_ptr<boost::asio::ssl::context> context() const;

 private:
  explicit TlsServer(TlsFiles files) : files_(std::move(files)) {}

  const TlsFiles files_;
  Watchers watchers_;
  mutable std::mutex mutex_;
  std::shared_ptr<boost::asio::ssl::context> context_;
  std::vector<Expiry> expiries_;
};

// What this connection takes by ALPN; `protocol` outlives it.
void accept_protocol(SSL* connection, const std::string& protocol);

}  // namespace fathom::net
