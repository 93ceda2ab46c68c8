#include "cli/up_security.h"

#include <algorithm>

#include "base/time.h"
#include "cli/filter_flags.h"
#include "cli/security_flags.h"
#include "cli/server_flags.h"
#include "cli/text.h"
#include "net/tokens.h"

namespace fathom::cli {

namespace {

constexpr uint64_t kHandshakeNano = 10 * kNanosPerSecond;

// The agent's names of them, in words of who starts both.
std::vector<Flag> collector_flags() {
  return {{"--collector-ca", "FILE",
           "the agent trusts the server's certificate when one of these CAs signed it (PEM; default: those that this "
           "host trusts)"},
          {"--collector-certificate", "FILE", "the agent shows this to the server; needed with --tls-client-ca (PEM)"},
          {"--collector-key", "FILE", "that certificate's private key (PEM)"},
          {"--collector-token-file", "FILE",
           "the agent sends its first token with the scope agent to the server (default: that of --token-file)"}};
}

// Files that cannot be read are told by the program that they are for.
Result<> check_tokens(const Args& args, const std::string& of_server) {
  const auto of_agent = args.given("--collector-token-file");
  if (!of_agent || of_server.empty()) return {};
  const auto sent = net::first_token({.token_file = *of_agent, .scope = net::Scope::kAgent});
  const auto known = net::read_tokens(of_server);
  if (!sent || !known) return {};
  if (std::ranges::find(*known, *sent, &net::Token::text) != known->end()) return {};
  return invalid("--collector-token-file: the token in '" + printable(*of_agent) +
                 "', which the agent sends, is none of those in --token-file '" + printable(of_server) +
                 "'; leave it out, and the agent sends one of these");
}

// With no such line, the agent would be refused for as long as it runs.
Result<> check_agents_scope(const std::string& of_server) {
  if (of_server.empty()) return {};
  const auto known = net::read_tokens(of_server);
  if (!known) return {};
  const bool has_one =
      std::ranges::any_of(*known, [](const net::Token& one) { return one.scopes.has(net::Scope::kAgent); });
  if (has_one) return {};
  return invalid("--token-file: no token of '" + printable(of_server) +
                 "' has the scope agent, which the agent needs; add a line 'NAME:TOKEN agent'");
}

std::string host_of(const std::string& address) {
  return address.substr(0, address.rfind(':'));
}

}  // namespace

std::vector<Flag> up_security_flags() {
  return join({listener_security_flags(), collector_flags()});
}

Result<UpSecurity> up_security(const Args& args, const std::vector<std::string>& listens_at) {
  auto files = listener_files(args, listens_at);
  if (!files) return files.error();
  UpSecurity security{words_of(args, listener_security_flags()), words_of(args, collector_flags())};
  const bool tls = !files->tls.certificate.empty();
  if (!tls && (args.given("--collector-ca") || args.given("--collector-certificate"))) {
    return invalid("--collector-ca: the server speaks no TLS: --tls-certificate FILE --tls-key FILE");
  }
  if (tls && !files->tls.client_ca.empty() && !args.given("--collector-certificate")) {
    return invalid(
        "--tls-client-ca: the agent must show a certificate, too: --collector-certificate FILE --collector-key FILE");
  }
  if (Result<> known = check_tokens(args, files->token_file); !known) return known.error();
  if (Result<> known = check_agents_scope(files->token_file); !known) return known.error();
  if (tls) {
    security.agent_words.emplace_back("--collector-tls");
    security.of_agent = client_security(args, "--collector-");
    security.of_agent->address_flag = "--ingest";
  }
  if (!files->token_file.empty() && !args.given("--collector-token-file")) {
    security.agent_words.push_back("--collector-token-file=" + files->token_file);
  }
  // Of its own listener, if it is to have one.
  if (!args.get("--agent-http").empty()) {
    security.agent_words.insert(security.agent_words.end(), security.server_words.begin(), security.server_words.end());
  }
  return security;
}

Result<> try_as_agent(const UpSecurity& security, const std::string& address) {
  if (!security.of_agent) return {};
  Result<> tried = net::try_tls(address, *security.of_agent, "h2", kHandshakeNano);
  if (tried) return tried;
  return Error{tried.error().code == ErrorCode::kInvalid ? ErrorCode::kUnavailable : tried.error().code,
               "the agent cannot send to its server: " + tried.error().message};
}

std::string address_for_agent(const std::string& asked, const std::string& bound) {
  const std::string host = host_of(asked);
  const std::string port = bound.substr(bound.rfind(':'));
  return (host.empty() || host == "0.0.0.0" || host == "[::]" ? "127.0.0.1" : host) + port;
}

}  // namespace fathom::cli
