// TlsFront: a listener that speaks TLS, and hands what is within it to one that does not know of it.
//
// Purpose: one TLS for every listener, whether HTTP or gRPC is spoken within: handshakes are bounded in time and
// number, those that fail are counted and named, and certificates can be loaded anew: whose own is then of no CA that
// is trusted is cut off. Each peer becomes one end of a socket pair; a relay of 16 KiB each way stands between. Whoever
// speaks no TLS is told so. Thread safety: start(), close_door() and stop() from one thread; deliveries come from the
// front's threads, one at a time. Errors: start() fails with a message that names the address. Losses:
// fathom_tls_refused_total{listener,reason}.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "net/tls_server.h"

namespace fathom::net {

struct TlsFrontOptions {
  std::string listener = "http";  // the label in metrics
  std::string address = "127.0.0.1:0";
  std::string protocol = "http/1.1";  // offered by ALPN; or "h2"
  size_t threads = 1;
  size_t max_connections = 4096;
  uint64_t handshake_timeout_nano = 10'000'000'000;
  uint64_t write_stall_nano = 30'000'000'000;  // the longest that a peer may take for 16 KiB
  uint64_t end_timeout_nano = 5'000'000'000;   // from the end of what is within to the end of the connection
};

class TlsFront {
 public:
  // A connected, non-blocking socket, and whose it is: "HOST:PORT".
  using Deliver = std::function<void(Fd, const std::string& peer)>;

  TlsFront(TlsFrontOptions options, std::shared_ptr<TlsServer> tls, Deliver deliver);
  ~TlsFront();  // stop()
  // Binds and serves; returns the bound "HOST:PORT".
  Result<std::string> start();
  // Takes nobody more, and delivers nothing more.
  void close_door();
  // Cuts off who is left.
  void stop();

  struct Impl;  // net/tls_front_impl.h

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace fathom::net
