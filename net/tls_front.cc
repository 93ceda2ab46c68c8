#include "net/tls_front.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>

#include "base/log.h"
#include "net/address.h"
#include "net/tls_connection.h"

namespace fathom::net {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

// In the order of TlsRefusal.
constexpr std::array<std::string_view, kTlsRefusals> kTlsRefusalNames = {
    "not_tls", "timeout",   "cut_off",  "no_certificate",  "certificate",  "peer_refused",
    "version", "malformed", "too_many", "reader_too_slow", "accept_failed"};

}  // namespace

TlsFront::Impl::Impl(TlsFrontOptions given, std::shared_ptr<TlsServer> server, Deliver deliver)
    : context(static_cast<int>(std::max<size_t>(1, given.threads))),
      work(context.get_executor()),
      options(std::move(given)),
      tls(std::move(server)),
      hand_on(std::move(deliver)),
      acceptor(asio::make_strand(context)),
      accept_pause(acceptor.get_executor()) {
  for (size_t i = 0; i < kTlsRefusals; ++i) {
    refusals[i] = &counter("fathom_tls_refused_total", "Connections that were turned away by a listener's TLS.",
                           label("listener", options.listener) + "," + label("reason", kTlsRefusalNames[i]));
  }
}

void TlsFront::Impl::run() {
  asio::post(acceptor.get_executor(), [this] { accept_next(); });
  for (size_t i = 0; i < std::max<size_t>(1, options.threads); ++i) threads.emplace_back([this] { context.run(); });
}

void TlsFront::Impl::accept_next() {
  acceptor.async_accept(asio::make_strand(context), [this](boost::system::error_code fault, tcp::socket socket) {
    on_accept(fault, std::move(socket));
  });
}

void TlsFront::Impl::on_accept(boost::system::error_code fault, tcp::socket socket) {
  if (fault == asio::error::operation_aborted || !acceptor.is_open()) return;
  if (fault && fault != asio::error::connection_aborted) return pause_accepting();
  if (!fault) add(std::move(socket));
  accept_next();
}

// Usually the process is out of file descriptors; those who wait in the backlog get their turn when some are free.
void TlsFront::Impl::pause_accepting() {
  refused(TlsRefusal::kAcceptFailed, "somebody", "no connection can be accepted");
  accept_pause.expires_after(kAcceptPause);
  accept_pause.async_wait([this](boost::system::error_code fault) {
    if (!fault && acceptor.is_open()) accept_next();
  });
}

void TlsFront::Impl::add(tcp::socket socket) {
  boost::system::error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  auto connection = std::make_shared<TlsConnection>(*this, std::move(socket));
  {
    std::lock_guard lock(mutex);
    if (stopping) return;
    if (open.size() < options.max_connections) open.insert(connection);
    if (!open.contains(connection)) connection.reset();
  }
  if (connection) return connection->start();
  refused(TlsRefusal::kTooManyConnections, "somebody", "there are too many connections");
}

void TlsFront::Impl::remove(TlsConnection* connection) {
  std::lock_guard lock(mutex);
  open.erase(connection->shared_from_this());
}

bool TlsFront::Impl::deliver(Fd socket, const std::string& peer) {
  std::lock_guard lock(delivery);
  if (closed) return false;
  hand_on(std::move(socket), peer);
  return true;
}

void TlsFront::Impl::refused(TlsRefusal reason, const std::string& peer, const std::string& why) {
  const auto index = static_cast<size_t>(reason);
  refusals[index]->add();
  if (!paces[index].due()) return;
  log_warning("refused listener=" + options.listener + " peer=" + peer +
              " reason=" + std::string(kTlsRefusalNames[index]) + ": " + why);
}

void TlsFront::Impl::look_at_peers() {
  std::lock_guard lock(mutex);
  for (const auto& connection : open) connection->look_at_certificate();
}

void TlsFront::Impl::close_door() {
  {
    std::lock_guard lock(delivery);
    closed = true;
  }
  asio::post(acceptor.get_executor(), [this] {
    boost::system::error_code ignored;
    acceptor.close(ignored);
    accept_pause.cancel();
  });
}

void TlsFront::Impl::stop() {
  close_door();
  std::vector<std::shared_ptr<TlsConnection>> left;
  {
    std::lock_guard lock(mutex);
    stopping = true;
    left.assign(open.begin(), open.end());
  }
  for (auto& connection : left) connection->abort();
  left.clear();
  work.reset();
  // What was posted runs; then nothing is left that could come.
  for (auto& thread : threads) thread.join();
  threads.clear();
}

TlsFront::TlsFront(TlsFrontOptions options, std::shared_ptr<TlsServer> tls, Deliver deliver)
    : impl_(std::make_shared<Impl>(std::move(options), std::move(tls), std::move(deliver))) {}

TlsFront::~TlsFront() {
  stop();
}

Result<std::string> TlsFront::start() {
  Result<std::string> bound = listen_on(impl_->acceptor, impl_->options.address);
  if (!bound) return bound;
  impl_->watch = impl_->tls->watch([weak = impl_->weak_from_this()] {
    if (auto impl = weak.lock()) impl->look_at_peers();
  });
  impl_->run();
  return bound;
}

void TlsFront::close_door() {
  impl_->close_door();
}

void TlsFront::stop() {
  if (!impl_->threads.empty()) impl_->stop();
}

}  // namespace fathom::net
