#include "node-agent/socket/listener.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <utility>

#include "base/metrics.h"
#include "base/time.h"
#include "node-agent/socket/bind.h"
#include "node-agent/testing/scripted_pool.h"
#include "node-agent/testing/socket_client.h"

namespace fathom::agent {
namespace {

using pool::Verdict;
using testing::ScriptedPool;
using testing::SocketClient;

class Handler : public OfferHandler {
 public:
  Verdict offered(ConnectionId connection, const Peer& peer, Fd descriptor, uint64_t pool_bytes) override {
    offers.push_back(connection);
    last_peer = peer;
    last_descriptor = std::move(descriptor);
    last_bytes = pool_bytes;
    return verdict;
  }
  void closed(ConnectionId connection) override { ended.push_back(connection); }

  Verdict verdict = Verdict::kTaken;
  std::vector<ConnectionId> offers;
  std::vector<ConnectionId> ended;
  Peer last_peer;
  Fd last_descriptor;
  uint64_t last_bytes = 0;
};

size_t open_descriptors() {
  auto all = std::filesystem::directory_iterator("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

uint64_t refusals(const char* reason) {
  return counter("fathom_agent_refused_connections_total", "", label("reason", reason)).value();
}

class ListenerTest : public ::testing::Test {
 protected:
  ListenerTest() {
    std::string name = "/tmp/fathom-listener-XXXXXX";
    directory_ = ::mkdtemp(name.data());
    options_.path = directory_ + "/deeper/agent.sock";
    options_.node_id.fill(7);
  }
  ~ListenerTest() override {
    listener_.reset();
    std::filesystem::remove_all(directory_);
  }
  Result<> open(Fd inherited = {}) {
    listener_.emplace(loop_, options_, handler_);
    return listener_->open(std::move(inherited));
  }
  // Runs the loop until the condition holds.
  template <typename Condition>
  bool until(Condition condition) {
    uint64_t give_up = now_monotonic_nano() + 20 * kNanosPerSecond;
    while (now_monotonic_nano() < give_up) {
      if (condition()) return true;
      loop_.run_one_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  Verdict verdict_of(SocketClient& client) {
    std::optional<pool::Answer> answer;
    EXPECT_TRUE(until([&] { return (answer = client.answer()).has_value(); }));
    return answer ? answer->verdict : Verdict{99};
  }

  boost::asio::io_context loop_;
  std::string directory_;
  ListenerOptions options_;
  Handler handler_;
  std::optional<Listener> listener_;
};

TEST_F(ListenerTest, TakesAnOfferAndTellsItsEnd) {
  ASSERT_TRUE(open().ok());
  ScriptedPool pool;
  SocketClient client(options_.path);
  ASSERT_TRUE(client.offer(pool.bytes(), pool.descriptor().get()));
  std::optional<pool::Answer> answer;
  ASSERT_TRUE(until([&] { return (answer = client.answer()).has_value(); }));
  EXPECT_EQ(answer->verdict, Verdict::kTaken);
  EXPECT_EQ(answer->magic, pool::kSocketMagic);
  EXPECT_EQ(answer->node_id[15], 7);
  EXPECT_EQ(handler_.last_bytes, pool.bytes());
  EXPECT_EQ(handler_.last_peer.pid, ::getpid());
  EXPECT_EQ(handler_.last_peer.uid, ::getuid());
  EXPECT_TRUE(handler_.last_descriptor.open());
  client.close();
  ASSERT_TRUE(until([&] { return !handler_.ended.empty(); }));
  EXPECT_EQ(handler_.ended, handler_.offers);
  EXPECT_EQ(listener_->connections(), 0u);
}

TEST_F(ListenerTest, AnOfferWhoseSenderIsGoneAlreadyIsTaken) {
  ASSERT_TRUE(open().ok());
  ScriptedPool pool;
  {
    SocketClient client(options_.path);
    ASSERT_TRUE(client.offer(pool.bytes(), pool.descriptor().get()));
  }
  ASSERT_TRUE(until([&] { return handler_.ended.size() == 1; }));
  EXPECT_TRUE(handler_.last_descriptor.open());
}

TEST_F(ListenerTest, EverybodyMayConnect) {
  ASSERT_TRUE(open().ok());
  struct stat status {};
  ASSERT_EQ(::stat(options_.path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0666u);
  ASSERT_EQ(::stat((directory_ + "/deeper").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0755u);
}

struct Strange {
  const char* what;
  uint32_t magic;
  uint32_t version;
  uint64_t bytes;
  size_t size;
  int descriptors;
  Verdict verdict;
};

TEST_F(ListenerTest, RefusesWhatIsNoOffer) {
  ASSERT_TRUE(open().ok());
  ScriptedPool pool;
  Fd file = pool.descriptor();
  size_t before = 0;
  uint64_t versions = refusals("version");
  uint64_t invalid = refusals("invalid_offer");
  for (int lap = 0; lap < 3; ++lap) {
    for (const Strange& strange : {Strange{"magic", 1, 1, 5, 16, 1, Verdict::kInvalid},
                                   Strange{"empty", pool::kSocketMagic, 1, 0, 16, 1, Verdict::kInvalid},
                                   Strange{"version", pool::kSocketMagic, 2, 5, 16, 1, Verdict::kVersion},
                                   Strange{"short", pool::kSocketMagic, 1, 5, 15, 1, Verdict::kInvalid},
                                   Strange{"no file", pool::kSocketMagic, 1, 5, 16, 0, Verdict::kInvalid},
                                   Strange{"two files", pool::kSocketMagic, 1, 5, 16, 2, Verdict::kInvalid},
                                   Strange{"many files", pool::kSocketMagic, 1, 5, 16, 200, Verdict::kInvalid}}) {
      SocketClient client(options_.path);
      pool::Offer offer{strange.magic, strange.version, strange.bytes};
      std::vector<int> files(static_cast<size_t>(strange.descriptors), file.get());
      ASSERT_TRUE(client.send({reinterpret_cast<const char*>(&offer), strange.size}, files)) << strange.what;
      EXPECT_EQ(verdict_of(client), strange.verdict) << strange.what;
      EXPECT_TRUE(until([&] { return client.ended(); })) << strange.what;
    }
    ASSERT_TRUE(until([&] { return listener_->connections() == 0 && listener_->being_closed() == 0; }));
    if (lap == 0) before = open_descriptors();
  }
  EXPECT_TRUE(handler_.offers.empty());
  EXPECT_EQ(refusals("version") - versions, 3u);
  EXPECT_EQ(refusals("invalid_offer") - invalid, 18u);
  EXPECT_TRUE(until([&] { return listener_->connections() == 0; }));
  EXPECT_EQ(open_descriptors(), before) << "descriptors of strangers are closed";
}

// The last close of this waits a minute, unless the peer goes away: what was written cannot be delivered.
Fd lingering_connection(Fd& peer) {
  peer = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(::bind(peer.get(), generic, size), 0);
  EXPECT_EQ(::listen(peer.get(), 1), 0);
  EXPECT_EQ(::getsockname(peer.get(), generic, &size), 0);
  Fd connection(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::connect(connection.get(), generic, size), 0);
  std::string much(1 << 16, 'x');
  // Until no room is made any more: on a busy machine the other side takes what it can a moment later.
  pollfd room{.fd = connection.get(), .events = POLLOUT};
  do {
    while (::send(connection.get(), much.data(), much.size(), MSG_DONTWAIT) > 0) {
    }
  } while (::poll(&room, 1, 200) > 0);
  linger wait{1, 60};
  EXPECT_EQ(::setsockopt(connection.get(), SOL_SOCKET, SO_LINGER, &wait, sizeof wait), 0);
  return connection;
}

TEST_F(ListenerTest, WhatCannotBeClosedSoonKeepsNobodyWaiting) {
  ASSERT_TRUE(open().ok());
  Fd peers[3];
  SocketClient wrong_message(options_.path);  // in a message that is none,
  ASSERT_TRUE(wrong_message.send("?", {lingering_connection(peers[0]).get()}));
  SocketClient wrong_file(options_.path);  // as a pool,
  ASSERT_TRUE(wrong_file.offer(4096, lingering_connection(peers[1]).get()));
  SocketClient unread(options_.path);  // and in a message that nobody reads any more
  ASSERT_TRUE(unread.send("?"));
  ASSERT_TRUE(unread.send("?", {lingering_connection(peers[2]).get()}));
  uint64_t began = now_monotonic_nano();
  for (SocketClient* client : {&wrong_message, &wrong_file, &unread}) {
    EXPECT_EQ(verdict_of(*client), Verdict::kInvalid);
    EXPECT_TRUE(until([&] { return client->ended(); }));
  }
  ScriptedPool pool;
  SocketClient honest(options_.path);
  ASSERT_TRUE(honest.offer(pool.bytes(), pool.descriptor().get()));
  EXPECT_EQ(verdict_of(honest), Verdict::kTaken);
  EXPECT_LT(now_monotonic_nano() - began, 30 * kNanosPerSecond);
  EXPECT_GE(listener_->being_closed(), 1u) << "the test's own premise";
  for (Fd& peer : peers) peer.close();
  EXPECT_TRUE(until([&] { return listener_->being_closed() == 0; }));
}

// All of them are taken, and closed elsewhere: those that the kernel has no room for it would close in our call.
TEST_F(ListenerTest, AMessageMayBringAsManyDescriptorsAsTheKernelLets) {
  ASSERT_TRUE(open().ok());
  Fd peer;
  SocketClient client(options_.path);
  {
    Fd lingering = lingering_connection(peer);
    std::vector<int> files(Received::kMostDescriptors, client.descriptor());
    files.back() = lingering.get();
    ASSERT_TRUE(client.send("?", files));
  }
  uint64_t began = now_monotonic_nano();
  EXPECT_EQ(verdict_of(client), Verdict::kInvalid);
  EXPECT_LT(now_monotonic_nano() - began, 30 * kNanosPerSecond);
  ASSERT_TRUE(until([&] { return listener_->being_closed() == 2; })) << "the one, and the connection behind it";
  peer.close();
  EXPECT_TRUE(until([&] { return listener_->being_closed() == 0; }));
}

// Freeing it may take seconds where it is large.
TEST_F(ListenerTest, MemoryThatIsRefusedIsFreedElsewhere) {
  ASSERT_TRUE(open().ok());
  Fd peer;
  SocketClient stuck(options_.path);
  ASSERT_TRUE(stuck.send("?", {lingering_connection(peer).get()}));
  EXPECT_EQ(verdict_of(stuck), Verdict::kInvalid);
  ASSERT_TRUE(until([&] { return listener_->connections() == 0; }));
  ScriptedPool pool;
  handler_.verdict = Verdict::kTooMany;
  SocketClient client(options_.path);
  ASSERT_TRUE(client.offer(pool.bytes(), pool.descriptor().get()));
  EXPECT_EQ(verdict_of(client), Verdict::kTooMany);
  handler_.last_descriptor.close();
  ASSERT_TRUE(until([&] { return listener_->connections() == 0; }));
  EXPECT_EQ(listener_->being_closed(), 4u) << "what cannot be closed, the memory behind it, and two connections";
  peer.close();
  EXPECT_TRUE(until([&] { return listener_->being_closed() == 0; }));
}

TEST_F(ListenerTest, WhoseDescriptorsCannotBeClosedIsCutOffUntilTheyAre) {
  options_.most_being_closed = 40;
  ASSERT_TRUE(open().ok());
  Fd peer;
  SocketClient waiting(options_.path);
  ASSERT_TRUE(until([&] { return listener_->connections() == 1; }));
  SocketClient client(options_.path);
  {
    Fd lingering = lingering_connection(peer);
    std::vector<int> files(20, client.descriptor());
    files.front() = lingering.get();  // the others wait behind it
    ASSERT_TRUE(client.send("?", files));
  }  // before it is read: the last close must be the listener's
  EXPECT_EQ(verdict_of(client), Verdict::kInvalid);
  uint64_t before = refusals("disposal_full_of_user");
  ScriptedPool pool;
  ASSERT_TRUE(waiting.offer(pool.bytes(), pool.descriptor().get()));
  EXPECT_TRUE(until([&] { return waiting.ended(); })) << "unread";
  EXPECT_FALSE(waiting.answer());
  SocketClient newcomer(options_.path);
  EXPECT_TRUE(until([&] { return newcomer.ended(); }));
  EXPECT_EQ(refusals("disposal_full_of_user"), before + 2);
  peer.close();
  ASSERT_TRUE(until([&] { return listener_->being_closed() == 0; }));
  SocketClient honest(options_.path);
  ASSERT_TRUE(honest.offer(pool.bytes(), pool.descriptor().get()));
  EXPECT_EQ(verdict_of(honest), Verdict::kTaken);
}

TEST_F(ListenerTest, WhenTooMuchCannotBeClosedNobodyIsTakenUntilItIs) {
  options_.most_being_closed = 40;
  ASSERT_TRUE(open().ok());
  Fd peer;
  SocketClient client(options_.path);
  ASSERT_TRUE(client.offer(4096, lingering_connection(peer).get()));
  EXPECT_EQ(verdict_of(client), Verdict::kInvalid);
  uint64_t before = refusals("disposal_full");
  for (size_t i = 0; i < size_t{80} && refusals("disposal_full") == before; ++i) {
    SocketClient comes_and_goes(options_.path);
    ASSERT_TRUE(until([&] { return comes_and_goes.connected(); }));
    comes_and_goes.close();
    loop_.run_one_for(std::chrono::milliseconds(10));
  }
  ASSERT_TRUE(until([&] { return refusals("disposal_full") > before; }));
  peer.close();
  ScriptedPool pool;
  SocketClient honest(options_.path);
  ASSERT_TRUE(honest.offer(pool.bytes(), pool.descriptor().get()));
  EXPECT_EQ(verdict_of(honest), Verdict::kTaken);
}

TEST_F(ListenerTest, MayBeToldMoreThanItKnows) {
  ASSERT_TRUE(open().ok());
  ScriptedPool pool;
  pool::Offer offer{pool::kSocketMagic, pool::kSocketVersion, pool.bytes()};
  std::string longer(reinterpret_cast<const char*>(&offer), sizeof offer);
  longer.append(1000, 'x');
  SocketClient client(options_.path);
  ASSERT_TRUE(client.send(longer, {pool.descriptor().get()}));
  EXPECT_EQ(verdict_of(client), Verdict::kTaken);
}

TEST_F(ListenerTest, SaysTheHandlersVerdictAndEnds) {
  ASSERT_TRUE(open().ok());
  ScriptedPool pool;
  handler_.verdict = Verdict::kTooMany;
  uint64_t before = refusals("too_many_pools");
  SocketClient client(options_.path);
  ASSERT_TRUE(client.offer(pool.bytes(), pool.descriptor().get()));
  EXPECT_EQ(verdict_of(client), Verdict::kTooMany);
  EXPECT_TRUE(until([&] { return client.ended(); }));
  EXPECT_TRUE(handler_.ended.empty()) << "it was never taken";
  EXPECT_EQ(refusals("too_many_pools") - before, 1u);
}

TEST_F(ListenerTest, WhatIsNoPoolIsCounted) {
  ASSERT_TRUE(open().ok());
  ScriptedPool pool;
  for (auto [verdict, reason] : {std::pair{Verdict::kInvalid, "invalid_pool"}, {Verdict::kVersion, "pool_version"}}) {
    handler_.verdict = verdict;
    uint64_t before = refusals(reason);
    SocketClient client(options_.path);
    ASSERT_TRUE(client.offer(pool.bytes(), pool.descriptor().get()));
    EXPECT_EQ(verdict_of(client), verdict);
    EXPECT_EQ(refusals(reason) - before, 1u) << reason;
  }
  uint64_t before = refusals("invalid_pool");
  SocketClient client(options_.path);
  ASSERT_TRUE(client.offer(pool.bytes(), STDOUT_FILENO));
  EXPECT_EQ(verdict_of(client), Verdict::kInvalid);
  EXPECT_EQ(refusals("invalid_pool") - before, 1u) << "no memory at all";
}

TEST_F(ListenerTest, ConnectionsAreLimitedAltogether) {
  options_.most_connections = 2;
  ASSERT_TRUE(open().ok());
  uint64_t before = refusals("too_many");
  SocketClient clients[] = {SocketClient(options_.path), SocketClient(options_.path), SocketClient(options_.path)};
  ASSERT_TRUE(until([&] { return refusals("too_many") - before == 1; }));
  EXPECT_EQ(listener_->connections(), 2u);
  EXPECT_TRUE(until([&] { return clients[2].ended(); }));
}

TEST_F(ListenerTest, WithoutDescriptorsConnectionsWait) {
  ASSERT_TRUE(open().ok());
  uint64_t before = refusals("accept_failed");
  SocketClient client(options_.path);
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  rlimit none = limit;
  none.rlim_cur = 3;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  bool failed = until([&] { return refusals("accept_failed") > before; });
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_TRUE(failed);
  EXPECT_TRUE(until([&] { return listener_->connections() == 1; }));
}

TEST_F(ListenerTest, WhoSpeaksAfterItsOfferIsCutOff) {
  ASSERT_TRUE(open().ok());
  ScriptedPool pool;
  SocketClient client(options_.path);
  ASSERT_TRUE(client.offer(pool.bytes(), pool.descriptor().get()));
  EXPECT_EQ(verdict_of(client), Verdict::kTaken);
  uint64_t before = refusals("not_quiet");
  ASSERT_TRUE(client.offer(pool.bytes(), pool.descriptor().get()));
  EXPECT_TRUE(until([&] { return client.ended(); }));
  EXPECT_EQ(refusals("not_quiet") - before, 1u);
  EXPECT_EQ(handler_.ended.size(), 1u);
}

TEST_F(ListenerTest, WhoSaysNothingIsCutOff) {
  ASSERT_TRUE(open().ok());
  SocketClient client(options_.path);
  ASSERT_TRUE(until([&] { return listener_->connections() == 1; }));
  listener_->expire(now_monotonic_nano());
  EXPECT_EQ(listener_->connections(), 1u);
  uint64_t before = refusals("no_offer");
  listener_->expire(now_monotonic_nano() + options_.offer_timeout_nano);
  EXPECT_EQ(listener_->connections(), 0u);
  EXPECT_EQ(refusals("no_offer") - before, 1u);
  EXPECT_TRUE(client.ended());
}

TEST_F(ListenerTest, AFloodIsRefusedAndTheRestServed) {
  options_.most_connections_per_user = 10;
  ASSERT_TRUE(open().ok());
  uint64_t before = refusals("too_many_of_user");
  std::vector<std::unique_ptr<SocketClient>> flood;
  for (int i = 0; i < 100; ++i) flood.push_back(std::make_unique<SocketClient>(options_.path));
  ASSERT_TRUE(until([&] { return refusals("too_many_of_user") - before == 90; }));
  EXPECT_EQ(listener_->connections(), 10u);
  flood.clear();
  ASSERT_TRUE(until([&] { return listener_->connections() == 0; }));
  ScriptedPool pool;
  SocketClient client(options_.path);
  ASSERT_TRUE(client.offer(pool.bytes(), pool.descriptor().get()));
  EXPECT_EQ(verdict_of(client), Verdict::kTaken);
}

TEST_F(ListenerTest, ReplacesTheSocketOfADeadAgent) {
  ASSERT_TRUE(bind_seqpacket(options_.path, 0600).ok());  // and its listener dies here, its path does not
  ASSERT_TRUE(std::filesystem::exists(options_.path));
  EXPECT_TRUE(open().ok());
}

TEST_F(ListenerTest, RespectsALivingAgent) {
  Result<Fd> other = bind_seqpacket(options_.path, 0600);
  ASSERT_TRUE(other.ok());
  Result<> opened = open();
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(opened.error().message, "another agent listens at " + options_.path +
                                        "; stop that one or choose another place: --agent-socket PATH");
}

TEST_F(ListenerTest, MakesOneDirectoryAndNotTwo) {
  options_.path = directory_ + "/mistaken/fathom/agent.sock";
  Result<> opened = open();
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, ErrorCode::kInvalid);
  EXPECT_NE(opened.error().message.find("choose another place: --agent-socket PATH"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/mistaken"));
  std::filesystem::create_directory(directory_ + "/mistaken");
  EXPECT_TRUE(open().ok());
  EXPECT_EQ(std::filesystem::status(directory_ + "/mistaken/fathom").permissions(), std::filesystem::perms{0755});
}

TEST_F(ListenerTest, DoesNotDeleteWhatIsNoSocket) {
  std::filesystem::create_directories(directory_ + "/deeper");
  std::ofstream(options_.path) << "precious";
  Result<> opened = open();
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, ErrorCode::kInvalid);
  EXPECT_TRUE(std::filesystem::is_regular_file(options_.path));
}

TEST_F(ListenerTest, RefusesPathsThatAreTooLong) {
  options_.path = directory_ + "/" + std::string(200, 'x');
  Result<> opened = open();
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, ErrorCode::kInvalid);
}

TEST_F(ListenerTest, GoesOnWithAnInheritedSocketAndItsQueue) {
  Result<Fd> before = bind_seqpacket(options_.path, 0666);
  ASSERT_TRUE(before.ok());
  ScriptedPool pool;
  SocketClient waiting(options_.path);
  ASSERT_TRUE(waiting.offer(pool.bytes(), pool.descriptor().get()));
  ASSERT_TRUE(open(*std::move(before)).ok());
  EXPECT_EQ(verdict_of(waiting), Verdict::kTaken);
}

TEST_F(ListenerTest, AnInheritedSocketOfAnotherPathIsNotUsed) {
  Result<Fd> elsewhere = bind_seqpacket(directory_ + "/elsewhere.sock", 0666);
  ASSERT_TRUE(elsewhere.ok());
  ASSERT_TRUE(open(*std::move(elsewhere)).ok());
  EXPECT_TRUE(SocketClient(options_.path).connected());
}

TEST_F(ListenerTest, ItsPathGoesUnlessASuccessorWillUseIt) {
  ASSERT_TRUE(open().ok());
  listener_->close(true);
  EXPECT_TRUE(std::filesystem::exists(options_.path));
  ASSERT_TRUE(open().ok());
  listener_->close(false);
  EXPECT_FALSE(std::filesystem::exists(options_.path));
}

}  // namespace
}  // namespace fathom::agent
