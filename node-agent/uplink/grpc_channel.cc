#include "node-agent/uplink/grpc_channel.h"

#include "base/small_file.h"

namespace fathom::agent {

namespace {

constexpr const char* kHostsCas = "/etc/ssl/certs/ca-certificates.crt";
constexpr uint64_t kDiagnosisNano = 1'000'000'000;

// What cannot be read is missed by the handshake, after which explain_failure() names it.
std::string text_of(const std::string& path) {
  Result<std::string> text = path.empty() ? Result<std::string>(std::string()) : read_small_file(path);
  return text ? *text : "";
}

std::shared_ptr<grpc::ChannelCredentials> credentials_of(const CollectorAccess& access) {
  if (!access.tls) return grpc::InsecureChannelCredentials();
  const net::ClientSecurity& files = access.security;
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = text_of(files.ca.empty() ? kHostsCas : files.ca);
  options.pem_cert_chain = text_of(files.certificate);
  options.pem_private_key = text_of(files.key);
  return grpc::SslCredentials(options);
}

}  // namespace

std::shared_ptr<grpc::Channel> make_channel(const CollectorAccess& access) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);  // they would keep a copy of what was sent
  arguments.SetMaxSendMessageSize(-1);
  return grpc::CreateCustomChannel(access.address, credentials_of(access), arguments);
}

void show_token(grpc::ClientContext& call, const CollectorAccess& access) {
  Result<std::string> token = net::first_token(access.security);
  if (token && !token->empty()) call.AddMetadata("authorization", "Bearer " + *token);
}

std::string explain_failure(const grpc::Status& status, const CollectorAccess& access) {
  const std::string& says = status.error_message();
  const std::string& flags = access.security.flags;
  if (status.error_code() == grpc::StatusCode::UNAUTHENTICATED) return says + ": " + flags + "token-file FILE";
  if (status.error_code() != grpc::StatusCode::UNAVAILABLE) return says;
  if (access.tls) {
    Result<> tried = net::try_tls(access.address, access.security, "h2", kDiagnosisNano);
    return tried ? says : tried.error().message;
  }
  // Our collectors say why to whoever does not speak the TLS that they want, but gRPC does not hand that on.
  const bool was_sent_away = says.find("GOAWAY") != std::string::npos;
  return was_sent_away ? says + "; where the collector speaks TLS: " + flags + "tls, or " + flags + "ca FILE" : says;
}

}  // namespace fathom::agent
