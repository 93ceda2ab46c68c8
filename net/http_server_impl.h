// What an HttpServer's connections share: options, handler, metrics, the registry of open connections. Internal to
// net/.
//
// Thread safety: the registry is locked; everything else is set before the first connection. Ownership: the registry
// holds connections while they are open; connections refer to the Impl, which outlives them.
#pragma once

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_set>
#include <vector>

#include "net/http_metrics.h"
#include "net/http_server.h"
#include "net/tls_front.h"

namespace fathom::net {

class HttpConnection;

struct HttpServer::Impl : std::enable_shared_from_this<HttpServer::Impl> {
  Impl(HttpServerOptions options, std::shared_ptr<HttpHandler> handler);

  Result<std::string> listen();
  void answer_any_name();  // if others reach the listener, or it speaks TLS, and no names are configured
  void run();
  void accept_next();
  void on_accept(boost::system::error_code fault, boost::asio::ip::tcp::socket socket);
  void take(boost::asio::ip::tcp::socket socket, const std::string& peer);
  void adopt(Fd end, const std::string& peer);  // from any thread
  void turn_away(boost::asio::ip::tcp::socket socket);
  void pause_accepting();
  void stop(uint64_t grace_nano);

  // The memory of a large answer; where there is none, `response` becomes the error that says so. From any thread.
  Reservation reserve(HttpResponse& response, std::string_view content_type);
  bool full();
  void add(std::shared_ptr<HttpConnection> connection);
  void remove(HttpConnection* connection);
  std::vector<std::shared_ptr<HttpConnection>> connections();

  // The first members die last: answers that nobody takes any more lie in the context, connections and timers need it.
  const std::shared_ptr<ByteBudget> answers;
  boost::asio::io_context context;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work;
  HttpServerOptions options;  // constant from listen() on
  const bool is_of_this_host;
  const std::shared_ptr<HttpHandler> handler;
  HttpMetrics metrics;
  boost::asio::ip::tcp::acceptor acceptor;
  boost::asio::steady_timer accept_pause;
  std::vector<std::thread> threads;
  std::unique_ptr<TlsFront> front;  // listens instead of the acceptor

  std::mutex mutex;
  std::condition_variable changed;
  std::unordered_set<std::shared_ptr<HttpConnection>> open;
  bool stopping = false;
};

}  // namespace fathom::net
