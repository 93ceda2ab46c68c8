#include "net/tls_client.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/error.hpp>
#include <chrono>

#include "net/address.h"
#include "net/certificates.h"
#include "net/http_server.h"
#include "net/tls_client_stream.h"
#include "net/tokens.h"

namespace fathom::net {

namespace asio = boost::asio;
namespace ssl = boost::asio::ssl;
using Fault = boost::system::error_code;

namespace {

struct ClientContext {
  std::shared_ptr<ssl::context> context;
  std::vector<Expiry> expiries;
};

Result<ClientContext> make_client_context(const ClientSecurity& security) {
  ClientContext made{std::make_shared<ssl::context>(ssl::context::tls_client), {}};
  SSL_CTX_set_min_proto_version(made.context->native_handle(), TLS1_2_VERSION);
  made.context->set_verify_mode(ssl::verify_peer);
  Fault ignored;
  if (security.ca.empty()) made.context->set_default_verify_paths(ignored);
  if (!security.ca.empty()) {
    Result<Expiry> trusted = trust(*made.context, security.flags + "ca", security.ca);
    if (!trusted) return trusted.error();
    made.expiries.push_back(*trusted);
  }
  if (security.certificate.empty() != security.key.empty()) {
    return invalid(security.flags + (security.key.empty() ? "certificate" : "key") + ": " + security.flags +
                   "certificate and " + security.flags + "key go together; give both");
  }
  if (security.certificate.empty()) return made;
  Result<Expiry> used = use_certificate(*made.context, security.flags, security.certificate, security.key);
  if (!used) return used.error();
  made.expiries.push_back(*used);
  return made;
}

int reason_of(const Fault& fault) {
  if (fault.category() != asio::error::get_ssl_category()) return 0;
  return ERR_GET_REASON(static_cast<unsigned long>(fault.value()));
}

}  // namespace

Result<std::vector<Expiry>> expiries(const ClientSecurity& security) {
  auto made = make_client_context(security);
  if (!made) return made.error();
  if (auto token = first_token(security); !token) return token.error();
  return std::move(made->expiries);
}

Result<> check(const ClientSecurity& security) {
  auto checked = expiries(security);
  return checked ? Result<>() : Result<>(checked.error());
}

Result<std::string> first_token(const ClientSecurity& security) {
  if (security.token_file.empty()) return std::string();
  Result<std::vector<Token>> tokens = read_tokens(security.token_file);
  if (!tokens) return invalid(security.flags + "token-file: " + tokens.error().message);
  const auto fit = std::ranges::find_if(*tokens, [&](const Token& one) { return one.scopes.has(security.scope); });
  return fit == tokens->end() ? tokens->front().text : fit->text;
}

Result<std::unique_ptr<TlsClient>> TlsClient::make(boost::beast::tcp_stream& stream, const std::string& host,
                                                   const ClientSecurity& security) {
  auto made = make_client_context(security);
  if (!made) return made.error();
  std::unique_ptr<TlsClient> client(new TlsClient(stream, std::move(made->context), host, security));
  if (Result<> expects = client->expect_host(); !expects) return expects.error();
  return client;
}

TlsClient::TlsClient(boost::beast::tcp_stream& stream, std::shared_ptr<ssl::context> context, std::string host,
                     ClientSecurity security)
    : context_(std::move(context)), stream_(stream, *context_), host_(std::move(host)), security_(std::move(security)) {
  Fault ignored;
  stream_.set_verify_callback(
      [this](bool fine, ssl::verify_context& store) {
        if (!fine) {
          verify_error_ = X509_STORE_CTX_get_error(store.native_handle());
          certificate_fault_ = certificate_fault(store.native_handle());
        }
        return fine;
      },
      ignored);
}

Result<> TlsClient::expect_host() {
  SSL* native = stream_.native_handle();
  Fault fault;
  asio::ip::make_address(host_, fault);
  const bool is_name = static_cast<bool>(fault);
  if (!is_name && X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(native), host_.c_str()) == 1) return {};
  if (is_name && SSL_set1_host(native, host_.c_str()) == 1 && SSL_set_tlsext_host_name(native, host_.c_str()) == 1) {
    return {};
  }
  return invalid("'" + host_ + "' is no name of a host");
}

void TlsClient::offer(const std::string& protocol) {
  const std::string entry = static_cast<char>(protocol.size()) + protocol;
  SSL_set_alpn_protos(stream_.native_handle(), reinterpret_cast<const unsigned char*>(entry.data()),
                      static_cast<unsigned>(entry.size()));
}

std::string TlsClient::explain_certificate() const {
  const std::string fault = "the certificate of '" + host_ + "' is refused: " + certificate_fault_;
  switch (verify_error_) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return fault + "; the server needs a new one: --tls-certificate FILE, there";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return fault + "; is this host's clock wrong?";
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return fault + "; connect by one of these names (" + security_.address_flag +
             "), or have a certificate made for this one";
    default:
      return fault + " that is not in " + (security_.ca.empty() ? "this host's list" : "'" + security_.ca + "'") +
             "; give the CA that signed it: " + security_.flags + "ca FILE";
  }
}

// Who has an address instead of a URL has flags that say TLS.
std::string TlsClient::without_tls() const {
  if (security_.flags == ClientSecurity().flags) return "is http:// meant, or another port?";
  return "leave " + security_.flags + "ca, " + security_.flags + "certificate and " + security_.flags +
         "tls out, or give it a certificate (--tls-certificate there); or is another port meant?";
}

std::string TlsClient::explain(const Fault& fault) const {
  if (!certificate_fault_.empty()) return explain_certificate();
  const std::string show = security_.flags + "certificate FILE " + security_.flags + "key FILE";
  switch (reason_of(fault)) {
    case 0:
      break;
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
    case SSL_R_HTTP_REQUEST:
      return "what answers there speaks no TLS; " + without_tls();
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
      if (security_.certificate.empty()) return "the server wants a certificate of its clients: " + show;
      return "the server ends the handshake: " + fault.message();
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_TLSV1_ALERT_DECRYPT_ERROR:
      return "the server does not know the CA of '" + security_.certificate + "'; show one of its client CA: " + show;
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
      return "the server says that '" + security_.certificate + "' has expired; show a new one: " + show;
    default:
      return "TLS was not agreed upon: " + fault.message();
  }
  return fault == ssl::error::stream_truncated ? "the server cut the connection off within TLS" : "";
}

Result<> try_tls(const std::string& address, const ClientSecurity& security, const std::string& protocol,
                 uint64_t timeout_nano) {
  auto parts = split_address(address);
  if (!parts) return parts.error();
  auto endpoint = resolve(address);
  if (!endpoint) return endpoint.error();
  asio::io_context context;
  boost::beast::tcp_stream stream(context);
  auto client = TlsClient::make(stream, parts->first, security);
  if (!client) return client.error();
  (*client)->offer(protocol);
  stream.expires_after(std::chrono::nanoseconds(timeout_nano));
  Fault outcome;
  std::array<char, 1> byte{};
  stream.async_connect(*endpoint, [&](Fault connected) {
    outcome = connected;
    if (connected) return;
    (*client)->stream().async_handshake(ssl::stream_base::client, [&](Fault shaken) {
      outcome = shaken;
      if (shaken) return;
      // In TLS 1.3 a server says what it thinks of our certificate when the handshake is over for us: with gRPC it
      // speaks first otherwise.
      (*client)->stream().async_read_some(asio::buffer(byte), [&](Fault read, size_t) { outcome = read; });
    });
  });
  context.run();
  if (!outcome) return {};
  const std::string why = (*client)->explain(outcome);
  return unavailable(address + ": " + (why.empty() ? outcome.message() : why));
}

}  // namespace fathom::net
