// AgentTest: an agent on a loop of its own, with a scripted clock and an outbox that the test acknowledges; and
// processes to kill. Thread safety: none.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "node-agent/agent/agent.h"
#include "node-agent/testing/fake_outbox.h"
#include "node-agent/testing/fake_supervisor.h"
#include "node-agent/testing/nano.h"
#include "node-agent/testing/scripted_detail.h"
#include "node-agent/testing/scripted_pool.h"
#include "node-agent/testing/socket_client.h"
#include "node-agent/testing/steady_clock.h"

namespace fathom::agent::testing {

// A process that does nothing until it is killed.
class Sleeper {
 public:
  Sleeper() : pid_(::fork()) {
    if (pid_ == 0) {
      for (;;) ::pause();
    }
  }
  ~Sleeper() { kill(); }
  pid_t pid() const { return pid_; }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  pid_t pid_;
};

class AgentTest : public ::testing::Test {
 protected:
  AgentTest() {
    std::string name = "/tmp/fathom-agent-XXXXXX";
    directory_ = ::mkdtemp(name.data());
    options_.listener.path = directory_ + "/agent.sock";
    options_.poll_nano = 2 * kMilli;
    options_.drain.batch_pause_nano = options_.drain.short_batch_pause_nano = 0;
    options_.times = {.grace_nano = 20 * kMilli, .look_nano = 2 * kMilli, .maps_nano = 2 * kMilli};
  }
  ~AgentTest() override {
    agent_.reset();
    std::filesystem::remove_all(directory_);
  }
  Result<> start(std::vector<InheritedFd> inherited = {}) {
    agent_ = std::make_unique<Agent>(loop_, options_, clock_, supervised_ ? store_ : no_store_, outbox_);
    return agent_->start(std::move(inherited));
  }
  void must_start(std::vector<InheritedFd> inherited = {}) {
    Result<> started = start(std::move(inherited));
    ASSERT_TRUE(started.ok()) << started.error().message;
  }
  template <typename Condition>
  bool until(Condition condition) {
    uint64_t give_up = now_monotonic_nano() + 20 * kNanosPerSecond;
    while (now_monotonic_nano() < give_up) {
      if (condition()) return true;
      loop_.run_one_for(std::chrono::milliseconds(10));
      if (keeps_) outbox_.keep_all();
    }
    return false;
  }
  // So many looks at all pools.
  void pass_ticks(int count) {
    uint64_t began = clock_.now_nano;
    until([&] { return clock_.now_nano >= began + static_cast<uint64_t>(count) * 50 * kMilli; });
  }
  pool::Verdict offer(SocketClient& client, ScriptedPool& pool) {
    client.offer(pool.bytes(), pool.descriptor().get());
    return verdict(client);
  }
  pool::Verdict offer_detail(SocketClient& client, ScriptedDetail& pool) {
    client.offer(pool.bytes(), pool.descriptor().get(), pool::kDetailOfferMagic);
    return verdict(client);
  }
  // Of what was offered last; 99: the connection ended instead, or nothing was said.
  pool::Verdict verdict(SocketClient& client) {
    std::optional<pool::Answer> answer;
    until([&] { return (answer = client.answer()).has_value() || client.ended(); });
    abilities_ = answer ? answer->abilities : 0;
    return answer ? answer->verdict : pool::Verdict{99};
  }
  bool stop() {
    bool stopped = false;
    agent_->stop(10 * kNanosPerSecond, [&] { stopped = true; });
    return until([&] { return stopped; });
  }
  // Takes what the supervisor was told so far, and looks for one of it.
  bool was_told(const std::string& text) {
    while (std::optional<FakeSupervisor::Message> message = supervisor_.take()) told_ += message->text;
    return told_.find(text) != std::string::npos;
  }
  InheritedFd kept(ScriptedPool& pool, pid_t pid, uid_t uid = ::getuid()) {
    Result<PoolFile> file = PoolFile::open(pool.descriptor(), 0);
    ProgramId id{.uid = uid, .process = identify_process(pid), .key = {file->shape().device, file->shape().inode}};
    return {id.store_name(), pool.descriptor()};
  }
  // As after a restart: the pool comes from who kept it.
  void must_inherit(ScriptedPool& pool, pid_t pid) {
    std::vector<InheritedFd> all;
    all.push_back(kept(pool, pid));
    must_start(std::move(all));
  }

  boost::asio::io_context loop_;
  std::string directory_;
  AgentOptions options_;
  SteadyClock clock_;
  FakeSupervisor supervisor_;
  FdStore store_{supervisor_.address()};
  FdStore no_store_{""};
  bool supervised_ = false;
  FakeOutbox outbox_;
  bool keeps_ = true;
  std::string told_;
  uint32_t abilities_ = 0;  // of the last answer
  std::unique_ptr<Agent> agent_;
};

}  // namespace fathom::agent::testing
