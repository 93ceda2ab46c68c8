// TLS and tokens of `fathom up`: its server takes the flags as they are, its agent what it needs to be let in there.
//
// Thread safety: pure functions. Errors: kInvalid, naming the flag and the cure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/args.h"
#include "net/tls_client.h"

namespace fathom::cli {

// --tls-certificate, --tls-key, --tls-client-ca, --token-file; --collector-ca and others, which are the agent's.
std::vector<Flag> up_security_flags();

struct UpSecurity {
  std::vector<std::string> server_words;
  std::vector<std::string> agent_words;
  std::optional<net::ClientSecurity> of_agent;  // towards a server that speaks TLS
};
// `listens_at`: the addresses of the server.
Result<UpSecurity> up_security(const Args& args, const std::vector<std::string>& listens_at);

// Whether the agent will be let in by the server that listens at `address`, and lets itself in: what is wrong with the
// flags of the one or the other would be told by neither's end.
Result<> try_as_agent(const UpSecurity& security, const std::string& address);

// Where the agent finds the server that listens at `bound` because --ingest `asked` for it: by the name that was given,
// which its certificate may be for; and an address of all interfaces is one of this host.
std::string address_for_agent(const std::string& asked, const std::string& bound);

}  // namespace fathom::cli
