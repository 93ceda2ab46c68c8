// Listener: the agent's unix socket, and the connections of programs on it.
//
// Purpose: one connection per program: it offers its span pool once and its detail pool once, gets answers, and stays
// open as long as the program lives; its end is how we hear of the program's. Thread safety: none, belongs to the
// agent's loop. Ownership: of the listening socket and all connections; the handler must outlive it. Errors: open()
// says what is wrong with the path. Hostility: nothing that a peer does makes the loop wait, not even the end of what
// it sent (disposal.h); connections are limited per user and altogether, as is what could not be closed yet; a peer
// that says nothing is cut off, and what is refused is counted in fathom_agent_refused_connections_total{reason}.
// Units: nanoseconds of the monotonic clock.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "client/pool/layout.h"
#include "node-agent/socket/credentials.h"
#include "node-agent/socket/disposal.h"
#include "node-agent/socket/offer.h"

namespace fathom::agent {

struct ListenerOptions {
  std::string path;
  uint32_t mode = 0666;  // of the socket
  size_t most_connections = 8192;
  size_t most_connections_per_user = 2048;
  size_t most_being_closed = 2048;  // of one user a quarter; one message more than this
  uint64_t offer_timeout_nano = 5'000'000'000;
  std::array<uint8_t, 16> node_id{};  // told to programs
};

using ConnectionId = uint64_t;

class OfferHandler {
 public:
  virtual ~OfferHandler() = default;
  virtual pool::Verdict offered(ConnectionId connection, const Peer& peer, Fd descriptor, uint64_t pool_bytes) = 0;
  virtual pool::Verdict detail_offered(ConnectionId /*connection*/, const Peer& /*peer*/, Fd /*descriptor*/,
                                       uint64_t /*pool_bytes*/) {
    return pool::Verdict::kInvalid;
  }
  // What the answer to an offer that was taken says of us: pool::Ability.
  virtual uint32_t abilities(ConnectionId /*connection*/) { return 0; }
  // Of a connection whose offer was taken.
  virtual void closed(ConnectionId connection) = 0;
};

class Listener {
 public:
  Listener(boost::asio::io_context& loop, ListenerOptions options, OfferHandler& handler);
  ~Listener();

  // `inherited`: a listening socket that was kept from before; used when it is that of our path.
  Result<> open(Fd inherited);
  // The kept socket is removed from the file system unless a supervisor keeps it for our successor.
  void close(bool keep_path);
  void expire(uint64_t now_monotonic_nano);  // cuts off who said nothing
  void cut_off(ConnectionId id);             // ends the connection, if it is still there
  // A message to the program. kNotNow: it reads too slowly.
  enum class Said { kYes, kNotNow, kGone };
  Said say(ConnectionId id, std::string_view message);
  int descriptor() { return acceptor_.native_handle(); }
  size_t connections() const { return connections_.size(); }
  size_t being_closed() const { return disposal_.waiting(); }

  // Whether a descriptor is a listening socket of the right kind bound to `path`.
  static bool listens_at(int descriptor, const std::string& path);

 private:
  struct Connection {
    explicit Connection(boost::asio::io_context& loop) : socket(loop) {}
    boost::asio::posix::stream_descriptor socket;
    Peer peer;
    uint64_t offer_deadline_nano = 0;  // 0: an offer was taken
    bool has_spans = false;            // which
    bool has_detail = false;
    uint64_t next_detail_nano = 0;  // a refused one is not looked at again before
  };

  void wait_for_connections();
  void accept_some();
  bool accept_one();
  const char* reason_against(uid_t user) const;  // nothing: it may connect
  void admit(Fd socket);
  void wait_for_message(ConnectionId id);
  void read(ConnectionId id);
  static bool may_offer(const Connection& connection, const Received& received);
  bool answer_offer(ConnectionId id, Connection& connection, Received received);
  pool::Verdict decide(ConnectionId id, Connection& connection, Received received);
  bool send_answer(ConnectionId id, Connection& connection, pool::Verdict verdict) const;
  void drop(ConnectionId id);
  void retire(uid_t of_user, Fd socket);
  void retire(Connection& connection);
  void dispose(uid_t of_user, Received received);

  boost::asio::io_context& loop_;
  const ListenerOptions options_;
  OfferHandler& handler_;
  boost::asio::posix::stream_descriptor acceptor_;
  boost::asio::steady_timer pause_;
  std::map<ConnectionId, std::unique_ptr<Connection>> connections_;
  std::map<uid_t, size_t> per_user_;
  std::vector<ConnectionId> postponed_;  // have something to say, and wait until the disposal has room
  Disposal disposal_;
  ConnectionId last_id_ = 0;
  bool bound_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // callbacks of asio may come after us
};

}  // namespace fathom::agent
