// The flags of TLS and tokens: what listeners show and ask for, and what clients do.
//
// Thread safety: plain functions. Errors: kInvalid, naming the flag and the cure.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "cli/args.h"
#include "net/listener_security.h"
#include "net/tls_client.h"
#include "net/tls_server.h"

namespace fathom::cli {

struct ListenerFiles {
  net::TlsFiles tls;       // without a certificate: none
  std::string token_file;  // empty: no token is asked for
  std::vector<std::string> allowed_hosts;
};

// --tls-certificate, --tls-key, --tls-client-ca, --token-file and --allowed-host of a program that listens.
std::vector<Flag> listener_security_flags();
// `addresses`: where it listens. Tokens go over none of them in the clear, but within this host.
Result<ListenerFiles> listener_files(const Args& args, const std::vector<std::string>& addresses);
// Loads them.
Result<net::ListenerSecurity> load(const ListenerFiles& files);
// Loads anew what `security` has: all of it or, with an error, nothing.
Result<> reload(const net::ListenerSecurity& security);
// Says in the log what of it ends soon.
void warn_of_expiry(const net::ListenerSecurity& security);
// How often daemons do.
inline constexpr uint64_t kExpiryWarningNano = 24 * kNanosPerHour;

// --PREFIXca, --PREFIXcertificate, --PREFIXkey, --PREFIXtoken-file of a client; `prefix` is "--" or "--collector-".
std::vector<Flag> client_security_flags(const std::string& prefix, const std::string& of_whom,
                                        const std::string& environment);
net::ClientSecurity client_security(const Args& args, const std::string& prefix);
// An error when one of them is given, but names no file.
Result<> client_files_named(const Args& args, const std::string& prefix);

}  // namespace fathom::cli
