#include "node-agent/uplink/grpc_channel.h"

#include "base/small_file.h"

namespace fathom::agent {

namespace {

constexpr const char* kHostsCas = "/etc/ssl/certs/ca-certificates.crt";
constexpr uint64_t kDiagnosisNano = 1'000'000'000;

// What cannot be read is missed by the handshake, after which explain_failure() names it.
std::string file_text(const std::string& path) {
  Result<std::string> text = path.empty() ? Result<std::string>(std::string()) : read_small_file(path);
  return text ? *text : "";
}

std::shared_ptr<grpc::ChannelCredentials> credentials_of(const CollectorAccess& access) {
  if (!access.tls) return grpc::InsecureChannelCredentials();
  const net::ClientSecurity& files = access.security;
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = file_text(files.ca.empty() ? kHostsCas : files.ca);
  options.pem_cert_chain = file_text(files.certificate);
  options.pem_private_key = file_text(files.key);
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

// In words, of what gRPC and the resolver say.
std::string unreachable(std::string says, const std::string& address) {
  if (says.starts_with(address + ": ")) says.erase(0, address.size() + 2);
  if (says.find("Connection refused") != std::string::npos) {
    return "nobody listens there (connection refused); is fathom-server running, and does its --ingest have an address "
           "that this host reaches? By default only its own host does";
  }
  if (says.find("DNS resolution failed") != std::string::npos || says.find("Host not found") != std::string::npos) {
    return "no host is known by that name; is it right, and in the DNS or /etc/hosts?";
  }
  return says;
}

std::string explain_failure(const grpc::Status& status, const CollectorAccess& access) {
  const std::string& says = status.error_message();
  const std::string& flags = access.security.flags;
  if (status.error_code() == grpc::StatusCode::UNAUTHENTICATED) return says + ": " + flags + "token-file FILE";
  if (status.error_code() != grpc::StatusCode::UNAVAILABLE) return says;
  if (access.tls) {
    Result<> tried = net::try_tls(access.address, access.security, "h2", kDiagnosisNano);
    return tried ? says : unreachable(tried.error().message, access.address);
  }
  // Our collectors say why to whoever does not speak the TLS that they want, but gRPC does not hand that on.
  const bool was_sent_away = says.find("GOAWAY") != std::string::npos;
  return was_sent_away ? says + "; where the collector speaks TLS: " + flags + "tls, or " + flags + "ca FILE"
                       : unreachable(says, access.address);
}

}  // namespace fathom::agent
