#include "node-agent/socket/listener.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/metrics.h"
#include "base/time.h"
#include "node-agent/socket/bind.h"

namespace fathom::agent {

namespace {

using boost::asio::posix::stream_descriptor;

constexpr int kAcceptAtOnce = 32;
// After so many at once everybody else has a turn: a flood of connections is not the loop's whole day.
constexpr auto kAcceptPause = std::chrono::milliseconds(5);
constexpr auto kNoDescriptorPause = std::chrono::milliseconds(100);
constexpr uint64_t kDetailPauseNano = 5'000'000'000;

Counter& refused(const char* reason) {
  return counter("fathom_agent_refused_connections_total",
                 "Connections to the agent's socket that were ended, by reason.", label("reason", reason));
}

// Asks nobody but the kernel, and the close of such a file waits for nobody.
bool is_memory_file(int descriptor) {
  return ::fcntl(descriptor, F_GET_SEALS) >= 0;
}

const char* reason_of(Received::Kind kind) {
  return kind == Received::Kind::kVersion ? "version" : "invalid_offer";
}

const char* reason_of(pool::Verdict verdict) {
  switch (verdict) {
    case pool::Verdict::kTooMany:
      return "too_many_pools";
    case pool::Verdict::kVersion:
      return "pool_version";
    default:
      return "invalid_pool";
  }
}

}  // namespace

Listener::Listener(boost::asio::io_context& loop, ListenerOptions options, OfferHandler& handler)
    : loop_(loop),
      options_(std::move(options)),
      handler_(handler),
      acceptor_(loop),
      pause_(loop),
      disposal_(options_.most_being_closed) {
  for (const char* reason :
       {"too_many", "too_many_of_user", "no_offer", "no_credentials", "version", "invalid_offer", "not_quiet",
        "too_many_pools", "pool_version", "invalid_pool", "accept_failed", "disposal_full", "disposal_full_of_user"})
    refused(reason);
}

Listener::~Listener() {
  *alive_ = false;
}

bool Listener::listens_at(int descriptor, const std::string& path) {
  int type = 0;
  int listens = 0;
  socklen_t size = sizeof type;
  sockaddr_un own{};
  socklen_t own_size = sizeof own;
  return ::getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET &&
         ::getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens != 0 &&
         ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&own), &own_size) == 0 && own.sun_family == AF_UNIX &&
         path == own.sun_path && ::access(path.c_str(), F_OK) == 0;
}

Result<> Listener::open(Fd inherited) {
  if (inherited.open() && listens_at(inherited.get(), options_.path)) {
    ::fcntl(inherited.get(), F_SETFL, ::fcntl(inherited.get(), F_GETFL) | O_NONBLOCK);
  } else {
    inherited.close();
    Result<Fd> bound = bind_seqpacket(options_.path, options_.mode);
    if (!bound) return bound.error();
    inherited = *std::move(bound);
  }
  boost::system::error_code fault;
  acceptor_.assign(inherited.get(), fault);
  if (fault) return internal("cannot watch the socket: " + fault.message());
  inherited.release();
  bound_ = true;
  wait_for_connections();
  return {};
}

void Listener::close(bool keep_path) {
  if (!bound_) return;
  bound_ = false;
  if (!keep_path) ::unlink(options_.path.c_str());
  pause_.cancel();
  Fd listening(acceptor_.release());
  // Connections in its queue may have anything in theirs. Where a supervisor has it too, they stay.
  if (!keep_path) retire(::getuid(), std::move(listening));
  for (auto& [id, connection] : connections_) retire(*connection);
  connections_.clear();
  per_user_.clear();
}

// ---- accepting ------------------------------------------------------------------------------------------------------

void Listener::wait_for_connections() {
  acceptor_.async_wait(stream_descriptor::wait_read, [this, alive = alive_](const boost::system::error_code& fault) {
    if (*alive && bound_ && !fault) accept_some();
  });
}

void Listener::accept_some() {
  int accepted = 0;
  while (accepted < kAcceptAtOnce && accept_one()) ++accepted;
  bool full = errno == ENOSPC;
  bool no_descriptor = full || errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
  if (accepted < kAcceptAtOnce && !no_descriptor) return wait_for_connections();
  if (accepted < kAcceptAtOnce) refused(full ? "disposal_full" : "accept_failed").add();
  if (accepted < kAcceptAtOnce) {
    pause_.expires_after(kNoDescriptorPause);
  } else {
    pause_.expires_after(kAcceptPause);
  }
  pause_.async_wait([this, alive = alive_](const boost::system::error_code& fault) {
    if (*alive && bound_ && !fault) wait_for_connections();
  });
}

// False, with errno, when there is none.
bool Listener::accept_one() {
  if (!disposal_.has_room()) {
    errno = ENOSPC;
    return false;
  }
  Fd socket(::accept4(acceptor_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket.open()) return errno == ECONNABORTED || errno == EINTR;
  admit(std::move(socket));
  return true;
}

const char* Listener::reason_against(uid_t user) const {
  if (connections_.size() >= options_.most_connections) return "too_many";
  auto found = per_user_.find(user);
  bool too_many = found != per_user_.end() && found->second >= options_.most_connections_per_user;
  if (too_many) return "too_many_of_user";
  return disposal_.has_room_for(user) ? nullptr : "disposal_full_of_user";
}

void Listener::admit(Fd socket) {
  std::optional<Peer> peer = peer_of(socket.get());
  const char* why_not = peer ? reason_against(peer->uid) : "no_credentials";
  if (why_not != nullptr) {
    refused(why_not).add();
    return retire(peer ? peer->uid : ::getuid(), std::move(socket));
  }
  auto connection = std::make_unique<Connection>(loop_);
  boost::system::error_code fault;
  connection->socket.assign(socket.get(), fault);
  if (fault) {
    refused("accept_failed").add();
    return retire(peer->uid, std::move(socket));
  }
  socket.release();
  ++per_user_[peer->uid];
  ConnectionId id = ++last_id_;
  connection->peer = *peer;
  connection->offer_deadline_nano = now_monotonic_nano() + options_.offer_timeout_nano;
  connections_.emplace(id, std::move(connection));
  wait_for_message(id);
}

// ---- one connection -------------------------------------------------------------------------------------------------

void Listener::wait_for_message(ConnectionId id) {
  connections_.at(id)->socket.async_wait(stream_descriptor::wait_read,
                                         [this, alive = alive_, id](const boost::system::error_code& fault) {
                                           if (*alive && !fault && connections_.contains(id)) read(id);
                                         });
}

void Listener::read(ConnectionId id) {
  Connection& connection = *connections_.at(id);
  if (!disposal_.has_room()) return postponed_.push_back(id);
  // Unread: what it says might be one more descriptor that cannot be closed.
  if (!disposal_.has_room_for(connection.peer.uid)) {
    if (connection.offer_deadline_nano != 0) refused("disposal_full_of_user").add();
    return drop(id);
  }
  Received received = receive_offer(connection.socket.native_handle());
  if (received.kind == Received::Kind::kNothing) return wait_for_message(id);
  bool end = received.kind == Received::Kind::kEnd;
  bool not_quiet = !end && connection.offer_deadline_nano == 0 && !may_offer(connection, received);
  if (not_quiet) refused("not_quiet").add();
  if (end || not_quiet) {
    dispose(connection.peer.uid, std::move(received));
    return drop(id);
  }
  if (!answer_offer(id, connection, std::move(received))) return drop(id);
  wait_for_message(id);
}

// Each kind of pool once. A detail pool that there was no room for, now and then.
bool Listener::may_offer(const Connection& connection, const Received& received) {
  if (received.kind == Received::Kind::kOffer) return !connection.has_spans;
  return received.kind == Received::Kind::kDetailOffer && !connection.has_detail &&
         now_monotonic_nano() >= connection.next_detail_nano;
}

// Whether the connection stays.
bool Listener::answer_offer(ConnectionId id, Connection& connection, Received received) {
  if (!received.is_offer()) {
    refused(reason_of(received.kind)).add();
    bool version = received.kind == Received::Kind::kVersion;
    send_answer(id, connection, version ? pool::Verdict::kVersion : pool::Verdict::kInvalid);
    dispose(connection.peer.uid, std::move(received));
    return false;
  }
  bool detail = received.kind == Received::Kind::kDetailOffer;
  pool::Verdict verdict = decide(id, connection, std::move(received));
  if (verdict == pool::Verdict::kTaken) {
    (detail ? connection.has_detail : connection.has_spans) = true;
    connection.offer_deadline_nano = 0;
  } else {
    refused(reason_of(verdict)).add();
    connection.next_detail_nano = now_monotonic_nano() + kDetailPauseNano;
  }
  // Spans go on, whatever becomes of the detail.
  return send_answer(id, connection, verdict) && (connection.has_spans || verdict == pool::Verdict::kTaken);
}

pool::Verdict Listener::decide(ConnectionId id, Connection& connection, Received received) {
  if (!is_memory_file(received.descriptor.get())) {
    dispose(connection.peer.uid, std::move(received));
    return pool::Verdict::kInvalid;
  }
  // Where the last descriptor is closed, the memory is freed, and of that there may be any amount.
  Fd last(::fcntl(received.descriptor.get(), F_DUPFD_CLOEXEC, 0));
  bool detail = received.kind == Received::Kind::kDetailOffer;
  pool::Verdict verdict =
      detail ? handler_.detail_offered(id, connection.peer, std::move(received.descriptor), received.pool_bytes)
             : handler_.offered(id, connection.peer, std::move(received.descriptor), received.pool_bytes);
  if (verdict != pool::Verdict::kTaken && last.open()) disposal_.take(connection.peer.uid, std::move(last));
  return verdict;
}

bool Listener::send_answer(ConnectionId id, Connection& connection, pool::Verdict verdict) const {
  uint32_t abilities = verdict == pool::Verdict::kTaken ? handler_.abilities(id) : 0;
  pool::Answer answer{
      .magic = pool::kSocketMagic, .version = pool::kSocketVersion, .verdict = verdict, .abilities = abilities};
  std::memcpy(answer.node_id, options_.node_id.data(), sizeof answer.node_id);
  ssize_t sent = ::send(connection.socket.native_handle(), &answer, sizeof answer, MSG_DONTWAIT | MSG_NOSIGNAL);
  return sent == static_cast<ssize_t>(sizeof answer);
}

void Listener::drop(ConnectionId id) {
  auto found = connections_.find(id);
  bool taken = found->second->offer_deadline_nano == 0;
  auto of_user = per_user_.find(found->second->peer.uid);
  if (--of_user->second == 0) per_user_.erase(of_user);
  retire(*found->second);
  connections_.erase(found);
  if (taken) handler_.closed(id);
}

// The peer sees the end at once, whenever the descriptor is closed.
void Listener::retire(uid_t of_user, Fd socket) {
  ::shutdown(socket.get(), SHUT_RDWR);
  disposal_.take(of_user, std::move(socket));
}

void Listener::retire(Connection& connection) {
  retire(connection.peer.uid, Fd(connection.socket.release()));
}

void Listener::dispose(uid_t of_user, Received received) {
  if (received.descriptor.open()) disposal_.take(of_user, std::move(received.descriptor));
  for (Fd& descriptor : received.unwanted) disposal_.take(of_user, std::move(descriptor));
}

void Listener::cut_off(ConnectionId id) {
  if (connections_.contains(id)) drop(id);
}

Listener::Said Listener::say(ConnectionId id, std::string_view message) {
  auto found = connections_.find(id);
  if (found == connections_.end()) return Said::kGone;
  int socket = found->second->socket.native_handle();
  if (::send(socket, message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return Said::kYes;
  return errno == EAGAIN || errno == ENOBUFS || errno == EINTR ? Said::kNotNow : Said::kGone;
}

void Listener::expire(uint64_t now_monotonic_nano) {
  std::vector<ConnectionId> silent;
  for (const auto& [id, connection] : connections_) {
    if (connection->offer_deadline_nano != 0 && connection->offer_deadline_nano < now_monotonic_nano)
      silent.push_back(id);
  }
  refused("no_offer").add(silent.size());
  for (ConnectionId id : silent) drop(id);
  for (ConnectionId id : std::exchange(postponed_, {})) {
    if (connections_.contains(id)) wait_for_message(id);
  }
}

}  // namespace fathom::agent
