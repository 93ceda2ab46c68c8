#include "node-agent/socket/credentials.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <string>

#include "base/fd.h"

namespace fathom::agent {
namespace {

constexpr int kAttempts = 50;  // other processes of the host may take the number first

class CredentialsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    listener_ = Fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    address_.sun_family = AF_UNIX;
    std::strncpy(address_.sun_path, path_.c_str(), sizeof address_.sun_path - 1);
    ASSERT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address_), sizeof address_), 0);
    ASSERT_EQ(::listen(listener_.get(), 10), 0);
  }
  void TearDown() override { ::unlink(path_.c_str()); }
  // A child that connects, and then runs until it is killed.
  pid_t child_that_connects() {
    const pid_t child = ::fork();
    if (child == 0) {
      const int socket = ::socket(AF_UNIX, SOCK_SEQPACKET, 0);
      ::connect(socket, reinterpret_cast<sockaddr*>(&address_), sizeof address_);
      for (;;) ::pause();
    }
    return child;
  }
  Fd accept() const { return Fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)); }
  static void end(pid_t child) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  // Another child with this number; 0: there was none.
  static pid_t child_of_number(pid_t number) {
    for (int i = 0; i < kAttempts; ++i) {
      std::ofstream("/proc/sys/kernel/ns_last_pid") << number - 1 << std::flush;
      const pid_t child = ::fork();
      if (child == 0)
        for (;;) ::pause();
      if (child == number) return child;
      end(child);
    }
    return 0;
  }

  const std::string path_ = ::testing::TempDir() + "credentials-" + std::to_string(::getpid());
  sockaddr_un address_{};
  Fd listener_;
};

TEST_F(CredentialsTest, NameALivingPeer) {
  const pid_t child = child_that_connects();
  const std::optional<Peer> peer = peer_of(accept().get());
  ASSERT_TRUE(peer);
  EXPECT_EQ(peer->uid, ::getuid());
  EXPECT_EQ(peer->pid, child);
  EXPECT_EQ(peer->process, identify_process(child));
  EXPECT_TRUE(peer->process.known());
  end(child);
}

TEST_F(CredentialsTest, DoNotTakeALaterProcessForOneThatEnded) {
  const pid_t child = child_that_connects();
  const Fd socket = accept();
  end(child);
  EXPECT_FALSE(peer_of(socket.get())->process.known());
  const pid_t later = child_of_number(child);
  if (later == 0) GTEST_SKIP() << "only root can choose the number of a process, by ns_last_pid";
  EXPECT_TRUE(identify_process(child).known()) << "by its number";
  EXPECT_FALSE(peer_of(socket.get())->process.known());
  end(later);
}

}  // namespace
}  // namespace fathom::agent
