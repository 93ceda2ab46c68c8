// Certificates that a test makes for itself, by openssl(1): a CA, another one, and what each of them signs.
//
// Ownership: the files go with the object. Thread safety: one thread. Errors: a test that cannot have them fails.
#pragma once

#include <string>

#include "net/tls_client.h"
#include "net/tls_server.h"

namespace fathom::net::testing {

class Certificates {
 public:
  Certificates();
  ~Certificates();

  // NAME.crt and NAME.key, signed by the CA `ca` ("ca", "other"), for 127.0.0.1 unless `names` says else.
  void make(const std::string& name, const std::string& ca = "ca", const std::string& names = "IP:127.0.0.1");
  // The same, but it expired long ago.
  void make_expired(const std::string& name);
  std::string path(const std::string& file) const { return directory_ + "/" + file; }
  void write(const std::string& file, const std::string& text) const;

  void run(const std::string& arguments) const;  // openssl(1), where the files are

  TlsFiles server(const std::string& name, const std::string& client_ca = "") const;
  ClientSecurity client(const std::string& ca, const std::string& name = "") const;

 private:
  void make_ca(const std::string& name);
  void sign(const std::string& name, const std::string& ca, const std::string& names, const std::string& dates);

  std::string directory_;
};

}  // namespace fathom::net::testing
