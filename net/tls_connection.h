// TlsConnection: one peer of a TlsFront: a handshake, then a relay between TLS and a socket pair. Internal to net/.
//
// Thread safety: all on the connection's strand, but start() and abort(). Ownership: the front holds those that are
// open.
#pragma once

#include <array>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <memory>
#include <string>

#include "net/tls_front_impl.h"

namespace fathom::net {

class TlsConnection : public std::enable_shared_from_this<TlsConnection> {
 public:
  TlsConnection(TlsFront::Impl& front, boost::asio::ip::tcp::socket socket);

  void start();  // from any thread
  void abort();  // from any thread
  // Cuts it off where the CA that is trusted now did not sign it; from any thread.
  void look_at_certificate();

 private:
  using Fault = boost::system::error_code;

  void begin();
  void look_at_first_bytes();
  void tell_plain_speaker(std::string_view first);
  void shake_hands();
  void on_shaken(const Fault& fault);
  TlsRefusal reason_of(const Fault& fault) const;
  void refuse(TlsRefusal reason, const std::string& why);
  // The peer has not read yet why; a reset would take it away.
  void linger();
  void discard();
  void end_in_time();
  bool is_trusted();
  void relay();
  void read_peer();
  void on_peer_ended();
  void read_inner();
  void write_peer(size_t bytes);
  void end_peer();
  void set_deadline(uint64_t nano, TlsRefusal reason, const char* why);
  void clear_deadline();
  void close();

  TlsFront::Impl& front_;
  const std::shared_ptr<boost::asio::ssl::context> context_;
  boost::asio::ssl::stream<boost::asio::ip::tcp::socket> stream_;
  boost::asio::local::stream_protocol::socket inner_;
  boost::asio::steady_timer timer_;
  std::string peer_;  // "HOST:PORT"
  std::string certificate_fault_;
  std::string farewell_;
  std::array<char, 16 * 1024> from_peer_;
  std::array<char, 16 * 1024> from_inner_;
  bool armed_ = false;   // the timer is a deadline's
  bool ending_ = false;  // nothing more comes from within
  bool closed_ = false;
};

}  // namespace fathom::net
