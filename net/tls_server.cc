#include "net/tls_server.h"

#include <openssl/ssl.h>

#include <string_view>

#include "base/metrics.h"
#include "net/certificates.h"

namespace fathom::net {

namespace ssl = boost::asio::ssl;

namespace {

// Apart from Asio's, which has the first place of every connection for itself.
int protocol_place() {
  static const int kPlace = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return kPlace;
}

// What a connection speaks within TLS is its listener's to say, which leaves it with the connection.
int choose_protocol(SSL* connection, const unsigned char** chosen, unsigned char* size, const unsigned char* offered,
                    unsigned int offered_bytes, void*) {
  const auto* name = static_cast<const std::string*>(SSL_get_ex_data(connection, protocol_place()));
  if (name == nullptr) return SSL_TLSEXT_ERR_NOACK;
  for (unsigned at = 0; at < offered_bytes; at += offered[at] + 1u) {
    const auto* entry = reinterpret_cast<const char*>(offered) + at + 1;
    if (at + offered[at] >= offered_bytes || std::string_view(entry, offered[at]) != *name) continue;
    *chosen = offered + at + 1;
    *size = offered[at];
    return SSL_TLSEXT_ERR_OK;
  }
  return SSL_TLSEXT_ERR_NOACK;
}

Result<TlsServer::Loaded> make_server_context(const TlsFiles& files) {
  auto context = std::make_shared<ssl::context>(ssl::context::tls_server);
  SSL_CTX* native = context->native_handle();
  SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
  SSL_CTX_set_options(native, SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_mode(native, SSL_MODE_RELEASE_BUFFERS);  // a thousand idle peers
  SSL_CTX_set_alpn_select_cb(native, choose_protocol, nullptr);
  Result<Expiry> expires = use_certificate(*context, files.flags, files.certificate, files.key);
  if (!expires) return expires.error();
  if (files.client_ca.empty()) return TlsServer::Loaded{context, {*expires}};
  Result<Expiry> trusted = trust(*context, files.flags + "client-ca", files.client_ca);
  if (!trusted) return trusted.error();
  SSL_CTX_set_client_CA_list(native, SSL_load_client_CA_file(files.client_ca.c_str()));
  context->set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert);
  // Sessions are resumed only within what they were verified for.
  constexpr std::string_view kName = "fathom";
  SSL_CTX_set_session_id_context(native, reinterpret_cast<const unsigned char*>(kName.data()), kName.size());
  return TlsServer::Loaded{context, {*expires, *trusted}};
}

}  // namespace

void accept_protocol(SSL* connection, const std::string& protocol) {
  SSL_set_ex_data(connection, protocol_place(), const_cast<std::string*>(&protocol));
}

Result<std::shared_ptr<TlsServer>> TlsServer::load(TlsFiles files) {
  std::shared_ptr<TlsServer> server(new TlsServer(std::move(files)));
  Result<Loaded> loaded = server->read();
  if (!loaded) return loaded.error();
  server->use(*std::move(loaded));
  return server;
}

Result<TlsServer::Loaded> TlsServer::read() const {
  return make_server_context(files_);
}

void TlsServer::use(Loaded loaded) {
  gauge("fathom_tls_certificate_expires_seconds", "When the certificate of the listeners expires, in Unix time.")
      .set(loaded.expiries.front().unix_seconds);
  {
    std::lock_guard lock(mutex_);
    context_ = std::move(loaded.context);
    expiries_ = std::move(loaded.expiries);
  }
  warn_of_expiry();
  watchers_.tell();
}

void TlsServer::warn_of_expiry() const {
  std::vector<Expiry> expiries;
  {
    std::lock_guard lock(mutex_);
    expiries = expiries_;
  }
  net::warn_of_expiry(expiries);
}

std::shared_ptr<ssl::context> TlsServer::context() const {
  std::lock_guard lock(mutex_);
  return context_;
}

}  // namespace fathom::net
