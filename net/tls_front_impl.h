// The inside of TlsFront, which its connections see. Internal to net/.
#pragma once

#include <array>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_set>
#include <vector>

#include "base/log_pace.h"
#include "base/metrics.h"
#include "net/tls_front.h"

namespace fathom::net {

class TlsConnection;

// Why a peer was turned away before it was heard.
enum class TlsRefusal : uint8_t {
  kNotTls,
  kTimeout,
  kCutOff,
  kNoCertificate,  // where one is asked for
  kCertificate,    // that is not of the CA, or expired
  kPeerRefused,    // the peer said so: it does not trust ours
  kVersion,        // or ciphers: nothing in common
  kMalformed,
  kTooManyConnections,
  kReaderTooSlow,
  kAcceptFailed,
};
inline constexpr size_t kTlsRefusals = 11;

struct TlsFront::Impl : std::enable_shared_from_this<TlsFront::Impl> {
  Impl(TlsFrontOptions options, std::shared_ptr<TlsServer> tls, Deliver deliver);

  void run();
  void accept_next();
  void on_accept(boost::system::error_code fault, boost::asio::ip::tcp::socket socket);
  void pause_accepting();
  void add(boost::asio::ip::tcp::socket socket);
  void remove(TlsConnection* connection);
  // Hands the socket on, unless the door is closed.
  bool deliver(Fd socket, const std::string& peer);
  // Counts, and says so in the log, though of each reason not more than once a second.
  void refused(TlsRefusal reason, const std::string& peer, const std::string& why);
  // By the CA that is trusted now: cuts off who would not be let in any more.
  void look_at_peers();
  void close_door();
  void stop();

  boost::asio::io_context context;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work;
  const TlsFrontOptions options;
  const std::shared_ptr<TlsServer> tls;
  const Deliver hand_on;
  Watchers::Watch watch;
  boost::asio::ip::tcp::acceptor acceptor;
  boost::asio::steady_timer accept_pause;
  std::vector<std::thread> threads;
  std::array<Counter*, kTlsRefusals> refusals{};
  std::array<LogPace, kTlsRefusals> paces;

  std::mutex mutex;
  std::unordered_set<std::shared_ptr<TlsConnection>> open;
  bool stopping = false;
  std::mutex delivery;  // apart, for deliveries take their time
  bool closed = false;
};

}  // namespace fathom::net
