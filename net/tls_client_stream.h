// TlsClient: TLS about a TCP stream that connects to a server, with words for what goes wrong. Internal to net/.
//
// Thread safety: one thread. Ownership: the stream outlives it. Errors of make(): kInvalid, naming the file.
#pragma once

#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <memory>
#include <string>

#include "base/result.h"
#include "net/tls_client.h"

namespace fathom::net {

class TlsClient {
 public:
  using Stream = boost::asio::ssl::stream<boost::beast::tcp_stream&>;

  static Result<std::unique_ptr<TlsClient>> make(boost::beast::tcp_stream& stream, const std::string& host,
                                                 const ClientSecurity& security);
  Stream& stream() { return stream_; }
  void offer(const std::string& protocol);  // by ALPN, before the handshake
  // What this fault of a handshake, or of a read or write after it, means, and the cure; empty: nothing of TLS.
  std::string explain(const boost::system::error_code& fault) const;

 private:
  TlsClient(boost::beast::tcp_stream& stream, std::shared_ptr<boost::asio::ssl::context> context, std::string host,
            ClientSecurity security);
  Result<> expect_host();
  std::string explain_certificate() const;
  std::string without_tls() const;

  const std::shared_ptr<boost::asio::ssl::context> context_;
  Stream stream_;
  const std::string host_;
  const ClientSecurity security_;
  std::string certificate_fault_;
  int verify_error_ = 0;
};

}  // namespace fathom::net
