#include "net/http_server.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>

#include "base/log.h"
#include "base/time.h"
#include "net/address.h"
#include "net/http_connection.h"
#include "net/http_server_impl.h"
#include "net/http_text.h"
#include "net/tokens.h"

namespace fathom::net {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

constexpr uint64_t kSmallBodyBytes = 64 * 1024;  // of requests and of answers

}  // namespace

HttpServer::Impl::Impl(HttpServerOptions server_options, std::shared_ptr<HttpHandler> server_handler)
    : answers(server_options.answers),
      context(static_cast<int>(std::max<size_t>(1, server_options.threads))),
      work(context.get_executor()),
      options(std::move(server_options)),
      is_of_this_host(is_loopback(options.address)),
      handler(std::move(server_handler)),
      metrics(options.listener),
      acceptor(asio::make_strand(context)),
      accept_pause(acceptor.get_executor()) {
  if (options.security.tokens) list_token_metrics(options.listener);
}

// With TLS, DNS rebinding fails: the certificate is not valid for the page's name.
void HttpServer::Impl::answer_any_name() {
  const bool has_tls = options.security.tls != nullptr;
  if (options.security.hosts.has_names() || (!has_tls && is_loopback(options.address))) return;
  if (!has_tls) {
    log_warning("listener=" + options.listener + " at " + options.address +
                " answers requests for every host name, so that a page of another site may read it through a browser " +
                "(DNS rebinding); --allowed-host NAME names those that are this host's");
  }
  options.security.hosts = AllowedHosts::any_without_origin();
}

Result<std::string> HttpServer::Impl::listen() {
  answer_any_name();
  if (!options.security.tls) return listen_on(acceptor, options.address);
  front = std::make_unique<TlsFront>(TlsFrontOptions{.listener = options.listener,
                                                     .address = options.address,
                                                     .threads = options.threads,
                                                     .max_connections = options.max_connections,
                                                     .handshake_timeout_nano = options.header_timeout_nano},
                                     options.security.tls,
                                     [this](Fd socket, const std::string& peer) { adopt(std::move(socket), peer); });
  return front->start();
}

// An end of a pair instead of a connection, which is all the same to who reads and writes.
void HttpServer::Impl::adopt(Fd end, const std::string& peer) {
  tcp::socket socket(asio::make_strand(context));
  boost::system::error_code fault;
  socket.assign(tcp::v4(), end.get(), fault);
  if (fault) return;
  (void)end.release();
  take(std::move(socket), peer);
}

void HttpServer::Impl::run() {
  if (!front) asio::post(acceptor.get_executor(), [this] { accept_next(); });
  for (size_t i = 0; i < std::max<size_t>(1, options.threads); ++i) threads.emplace_back([this] { context.run(); });
}

void HttpServer::Impl::accept_next() {
  acceptor.async_accept(asio::make_strand(context), [this](boost::system::error_code fault, tcp::socket socket) {
    on_accept(fault, std::move(socket));
  });
}

void HttpServer::Impl::on_accept(boost::system::error_code fault, tcp::socket socket) {
  if (fault == asio::error::operation_aborted || !acceptor.is_open()) return;
  if (fault == asio::error::connection_aborted) return accept_next();
  if (fault) return pause_accepting();
  boost::system::error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  const std::string peer = endpoint_text(socket.remote_endpoint(ignored));
  take(std::move(socket), peer);
  accept_next();
}

void HttpServer::Impl::take(tcp::socket socket, const std::string& peer) {
  if (full()) return turn_away(std::move(socket));
  add(std::make_shared<HttpConnection>(*this, std::move(socket), peer));
}

bool HttpServer::Impl::full() {
  std::lock_guard lock(mutex);
  return open.size() >= options.max_connections;
}

// Nothing is kept for this peer, so it is told what fits its socket at once.
void HttpServer::Impl::turn_away(tcp::socket socket) {
  metrics.refused(Refusal::kTooManyConnections);
  HttpResponse response = refusal_response(*handler, 503, "too many connections; try again", "");
  boost::system::error_code ignored;
  socket.non_blocking(true, ignored);
  socket.write_some(asio::buffer(render_head(response, false) + response.body), ignored);
  socket.shutdown(tcp::socket::shutdown_send, ignored);
}

// Usually the process is out of file descriptors; those who wait in the backlog get their turn when some are free.
void HttpServer::Impl::pause_accepting() {
  metrics.refused(Refusal::kAcceptFailed);
  accept_pause.expires_after(kAcceptPause);
  accept_pause.async_wait([this](boost::system::error_code fault) {
    if (!fault && acceptor.is_open()) accept_next();
  });
}

void HttpServer::Impl::add(std::shared_ptr<HttpConnection> connection) {
  {
    std::lock_guard lock(mutex);
    if (stopping) return;
    open.insert(connection);
    metrics.open_connections().add(1);
  }
  connection->start();
}

void HttpServer::Impl::remove(HttpConnection* connection) {
  std::lock_guard lock(mutex);
  if (open.erase(connection->shared_from_this()) > 0) metrics.open_connections().add(-1);
  changed.notify_all();
}

std::vector<std::shared_ptr<HttpConnection>> HttpServer::Impl::connections() {
  std::lock_guard lock(mutex);
  return {open.begin(), open.end()};
}

Reservation HttpServer::Impl::reserve(HttpResponse& response, std::string_view content_type) {
  uint64_t bytes = response.body.size() + (response.rest ? response.rest->held_bytes() : 0);
  if (!answers || bytes <= kSmallBodyBytes) return {};
  Reservation memory = answers->open();
  if (memory.grow(bytes)) return memory;
  metrics.refused(Refusal::kAnswerMemory);
  response = bytes > answers->limit()
                 ? handler->error(413,
                                  "the answer has " + std::to_string(bytes) + " bytes, more than the " +
                                      std::to_string(answers->limit()) + " that all answers may have; ask for less",
                                  content_type)
                 : refusal_response(*handler, 503, "too many large answers wait to be read; try again", content_type);
  return memory;
}

void HttpServer::Impl::stop(uint64_t grace_nano) {
  {
    std::lock_guard lock(mutex);
    stopping = true;
  }
  if (front) front->close_door();
  asio::post(acceptor.get_executor(), [this] {
    boost::system::error_code ignored;
    acceptor.close(ignored);
    accept_pause.cancel();
  });
  for (auto& connection : connections()) connection->begin_drain();
  {
    std::unique_lock lock(mutex);
    changed.wait_for(lock, std::chrono::nanoseconds(grace_nano), [this] { return open.empty(); });
  }
  for (auto& connection : connections()) connection->abort();
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return open.empty(); });
  }
  if (front) front->stop();
  work.reset();
  context.stop();
  for (auto& thread : threads) thread.join();
  threads.clear();
}

uint64_t body_allowance_nano(const HttpServerOptions& options, uint64_t bytes) {
  uint64_t small = std::min(bytes, kSmallBodyBytes);
  return options.header_timeout_nano + small * kNanosPerSecond / options.body_min_bytes_per_s +
         (bytes - small) * kNanosPerSecond / options.large_body_min_bytes_per_s;
}

HttpServer::HttpServer(HttpServerOptions options, std::shared_ptr<HttpHandler> handler)
    : impl_(std::make_shared<Impl>(std::move(options), std::move(handler))) {}

HttpServer::~HttpServer() {
  stop(0);
}

Result<std::string> HttpServer::start() {
  auto bound = impl_->listen();
  if (!bound) return bound;
  impl_->run();
  const std::string how = impl_->options.security.tls ? " tls=yes" : "";
  log_info("listening listener=" + impl_->options.listener + " address=" + *bound + how);
  return bound;
}

void HttpServer::stop(uint64_t grace_nano) {
  if (!impl_->threads.empty()) impl_->stop(grace_nano);
}

}  // namespace fathom::net
