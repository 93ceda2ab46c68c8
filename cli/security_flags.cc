#include "cli/security_flags.h"

#include "net/address.h"
#include "net/tokens.h"

namespace fathom::cli {

std::vector<Flag> listener_security_flags() {
  return {
      {"--tls-certificate", "FILE",
       "every TCP listener speaks TLS, and shows this certificate (PEM; those between it and its CA behind it)"},
      {"--tls-key", "FILE", "the certificate's private key (PEM, without a passphrase)"},
      {"--tls-client-ca", "FILE", "accept only clients that show a certificate that one of these CAs signed (PEM)"},
      {"--token-file", "FILE",
       "accept only clients that send one of these bearer tokens: lines TOKEN, NAME:TOKEN or NAME:TOKEN SCOPE,SCOPE "
       "(ingest, agent, query, control, snapshots, purge; default: all); /healthz stays open"},
      {"--allowed-host", "NAME",
       "answer HTTP requests for this host name, beside IP addresses and localhost; '*': for every name", "", true}};
}

namespace {

// A variable that was not set where the file was written must not mean: no TLS, no tokens.
Result<> name_files(const Args& args, const std::string& prefix, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const auto given = args.given(prefix + name);
    if (given && given->empty()) return invalid(prefix + name + ": names no file; leave it out, or name one");
  }
  return {};
}

}  // namespace

Result<ListenerFiles> listener_files(const Args& args, const std::vector<std::string>& addresses) {
  if (Result<> named = name_files(args, "--tls-", {"certificate", "key", "client-ca"}); !named) return named.error();
  if (Result<> named = name_files(args, "--", {"token-file"}); !named) return named.error();
  ListenerFiles files{{.certificate = args.get("--tls-certificate"),
                       .key = args.get("--tls-key"),
                       .client_ca = args.get("--tls-client-ca")},
                      args.get("--token-file"),
                      args.all("--allowed-host")};
  if (files.tls.certificate.empty() && !files.tls.key.empty()) {
    return invalid("--tls-key: its certificate is missing: --tls-certificate FILE");
  }
  if (!files.tls.certificate.empty() && files.tls.key.empty()) {
    return invalid("--tls-certificate: its key is missing: --tls-key FILE");
  }
  if (files.tls.certificate.empty() && !files.tls.client_ca.empty()) {
    return invalid("--tls-client-ca: clients show certificates within TLS only: --tls-certificate FILE --tls-key FILE");
  }
  if (files.token_file.empty() || !files.tls.certificate.empty()) return files;
  for (const std::string& address : addresses) {
    if (address.empty() || net::is_loopback(address)) continue;
    return invalid("--token-file: tokens would go to " + address +
                   " in the clear; give --tls-certificate FILE and --tls-key FILE, or listen on 127.0.0.1");
  }
  return files;
}

Result<net::ListenerSecurity> load(const ListenerFiles& files) {
  net::ListenerSecurity security{.hosts = net::AllowedHosts(files.allowed_hosts)};
  if (!files.tls.certificate.empty()) {
    auto tls = net::TlsServer::load(files.tls);
    if (!tls) return tls.error();
    security.tls = *std::move(tls);
  }
  if (files.token_file.empty()) return security;
  auto tokens = net::Tokens::load(files.token_file);
  if (!tokens) return invalid("--token-file: " + tokens.error().message);
  security.tokens = *std::move(tokens);
  return security;
}

Result<> reload(const net::ListenerSecurity& security) {
  std::optional<net::TlsServer::Loaded> tls;
  if (security.tls) {
    auto loaded = security.tls->read();
    if (!loaded) return loaded.error();
    tls = *std::move(loaded);
  }
  if (security.tokens) {
    auto known = security.tokens->read();
    if (!known) return invalid("--token-file: " + known.error().message);
    security.tokens->use(*std::move(known));
  }
  if (tls) security.tls->use(*std::move(tls));  // now that nothing can be wrong any more
  return {};
}

void warn_of_expiry(const net::ListenerSecurity& security) {
  if (security.tls) security.tls->warn_of_expiry();
}

std::vector<Flag> client_security_flags(const std::string& prefix, const std::string& of_whom,
                                        const std::string& environment) {
  auto fallback = [&](const char* name) {
    return environment.empty() ? std::string() : " (default: $" + environment + name + ")";
  };
  return {{prefix + "ca", "FILE", of_whom + "'s certificate must be signed by one of these CAs (PEM)" + fallback("CA")},
          {prefix + "certificate", "FILE",
           "shown to " + of_whom + " where it asks clients for one (PEM)" + fallback("CERTIFICATE")},
          {prefix + "key", "FILE", "that certificate's private key (PEM)" + fallback("KEY")},
          {prefix + "token-file", "FILE",
           "its first token is sent to " + of_whom + ": a line TOKEN or NAME:TOKEN" + fallback("TOKEN_FILE")}};
}

Result<> client_files_named(const Args& args, const std::string& prefix) {
  return name_files(args, prefix, {"ca", "certificate", "key", "token-file"});
}

net::ClientSecurity client_security(const Args& args, const std::string& prefix) {
  return {.ca = args.get(prefix + "ca"),
          .certificate = args.get(prefix + "certificate"),
          .key = args.get(prefix + "key"),
          .token_file = args.get(prefix + "token-file"),
          .flags = prefix,
          .address_flag = prefix == "--" ? "--url" : prefix.substr(0, prefix.size() - 1)};
}

}  // namespace fathom::cli
