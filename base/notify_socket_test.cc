#include "base/notify_socket.h"

#include <gtest/gtest.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace fathom {
namespace {

// A supervisor's end; the kernel chooses its abstract name.
class Supervisor {
 public:
  Supervisor() : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un any{.sun_family = AF_UNIX, .sun_path = {}};
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&any), sizeof(sa_family_t)), 0);
    socklen_t size = sizeof any;
    EXPECT_EQ(::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&any), &size), 0);
    address_ = "@" + std::string(any.sun_path + 1, size - sizeof(sa_family_t) - 1);
  }
  const std::string& address() const { return address_; }
  std::string heard() {
    char text[256];
    ssize_t size = ::recv(socket_.get(), text, sizeof text, MSG_DONTWAIT);
    return size < 0 ? "" : std::string(text, static_cast<size_t>(size));
  }

 private:
  Fd socket_;
  std::string address_;
};

TEST(NotifySocket, SaysWordsToTheSupervisor) {
  Supervisor supervisor;
  NotifySocket socket(supervisor.address());
  ASSERT_TRUE(socket.open());
  EXPECT_TRUE(socket.say("READY=1\n"));
  EXPECT_EQ(supervisor.heard(), "READY=1\n");
}

TEST(NotifySocket, TakesItsVariableOutOfTheEnvironment) {
  Supervisor supervisor;
  ::setenv("NOTIFY_SOCKET", supervisor.address().c_str(), 1);
  NotifySocket socket = NotifySocket::of_environment();
  EXPECT_EQ(std::getenv("NOTIFY_SOCKET"), nullptr);
  EXPECT_TRUE(socket.say("STOPPING=1\n"));
  EXPECT_EQ(supervisor.heard(), "STOPPING=1\n");
}

TEST(NotifySocket, WithoutASupervisorNothingIsSaid) {
  EXPECT_FALSE(NotifySocket::of_environment().open());
  for (const std::string& address :
       {std::string(), std::string("/"), std::string("relative"), "/" + std::string(200, 'a')}) {
    NotifySocket socket(address);
    EXPECT_FALSE(socket.open()) << address;
    EXPECT_FALSE(socket.say("READY=1\n")) << address;
  }
}

TEST(NotifySocket, OneThatIsGoneIsNoFault) {
  std::string address = Supervisor().address();
  EXPECT_FALSE(NotifySocket(address).say("READY=1\n"));
}

}  // namespace
}  // namespace fathom
