#include "cli/fd_store.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <map>

#include "cli/testing/scratch.h"

namespace fathom::cli {
namespace {

Fd memory_file() {
  return Fd(::memfd_create("test", MFD_CLOEXEC));
}

class FdStoreTest : public ::testing::Test {
 protected:
  void make(size_t most = FdStore::kMostDescriptors) {
    Result<FdStore> made = FdStore::make(scratch_.path(), most);
    ASSERT_TRUE(made.ok()) << made.error().message;
    store_.emplace(*std::move(made));
    store_->expect(::getpid());
  }

  std::map<std::string, std::string> variables() const {
    ChildOptions child;
    store_->equip(child);
    std::map<std::string, std::string> found;
    for (auto& [name, value] : child.environment) found[name] = value.value_or("");
    return found;
  }

  static sockaddr_un address_of(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path);
    return address;
  }

  // As a program sends it that was given these variables.
  static void send(const std::string& address, const std::string& text, const std::vector<int>& descriptors) {
    Fd socket(::socket(AF_UNIX, SOCK_DGRAM, 0));
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    address.copy(to.sun_path, sizeof to.sun_path);
    if (address.front() == '@') to.sun_path[0] = '\0';
    iovec part{const_cast<char*>(text.data()), text.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(253 * sizeof(int))];
    msghdr header{};
    header.msg_name = &to;
    header.msg_namelen = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size());
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    if (!descriptors.empty()) {
      header.msg_control = control;
      header.msg_controllen = CMSG_SPACE(descriptors.size() * sizeof(int));
      cmsghdr* rights = CMSG_FIRSTHDR(&header);
      rights->cmsg_level = SOL_SOCKET;
      rights->cmsg_type = SCM_RIGHTS;
      rights->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
      std::memcpy(CMSG_DATA(rights), descriptors.data(), descriptors.size() * sizeof(int));
    }
    ASSERT_GE(::sendmsg(socket.get(), &header, 0), 0) << std::strerror(errno);
  }
  void tell(const std::string& text, const std::vector<int>& descriptors = {}) {
    send(variables()["NOTIFY_SOCKET"], text, descriptors);
    store_->take();
  }

  Scratch scratch_;
  std::optional<FdStore> store_;
};

TEST_F(FdStoreTest, KeepsNamesAndNumbers) {
  make();
  Fd first = memory_file();
  Fd second = memory_file();
  EXPECT_EQ(variables().count("LISTEN_FDS"), 0u);
  tell("FDSTORE=1\nFDNAME=first", {first.get()});
  tell("STATUS=busy\nFDNAME=second\nFDSTORE=1\n", {second.get()});
  EXPECT_EQ(store_->size(), 2u);
  EXPECT_EQ(variables()["LISTEN_FDS"], "2");
  EXPECT_EQ(variables()["LISTEN_FDNAMES"], "first:second");
  ChildOptions child;
  EXPECT_EQ(store_->equip(child), 5);
  EXPECT_EQ(child.own_pid_variable, "LISTEN_PID");
  ASSERT_EQ(child.descriptors.size(), 2u);
  EXPECT_EQ(child.descriptors[1].first, 4);
  struct stat kept {};
  struct stat ours {};
  ASSERT_EQ(::fstat(child.descriptors[1].second, &kept), 0);
  ASSERT_EQ(::fstat(second.get(), &ours), 0);
  EXPECT_EQ(kept.st_ino, ours.st_ino);
}

TEST_F(FdStoreTest, AFileIsKeptOncePerName) {
  make();
  Fd file = memory_file();
  Fd other = memory_file();
  tell("FDSTORE=1\nFDNAME=a", {file.get(), file.get()});
  tell("FDSTORE=1\nFDNAME=a", {file.get()});
  EXPECT_EQ(store_->size(), 1u);
  tell("FDSTORE=1\nFDNAME=a", {other.get()});
  EXPECT_EQ(store_->size(), 2u) << "several files may share a name, as in systemd";
}

TEST_F(FdStoreTest, TheLastWordsAreHeardToTheEnd) {
  make();
  Fd sender(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0));
  sockaddr_un own{};
  own.sun_family = AF_UNIX;
  socklen_t size = sizeof own;
  auto* generic = reinterpret_cast<sockaddr*>(&own);
  ASSERT_EQ(::bind(sender.get(), generic, sizeof own.sun_family), 0);  // the kernel names it
  ASSERT_EQ(::getsockname(sender.get(), generic, &size), 0);
  ASSERT_EQ(::connect(store_->descriptor(), generic, size), 0);  // so its queue has no limit for this sender
  sockaddr_un store = address_of(variables()["NOTIFY_SOCKET"]);
  ASSERT_EQ(::connect(sender.get(), reinterpret_cast<sockaddr*>(&store), sizeof store), 0);
  store_->expect(::getpid() + 1);  // so that each is refused, and counted
  uint64_t sent = 0;
  while (sent < 1000 && ::send(sender.get(), "X=1", 3, 0) == 3) ++sent;
  store_->take();
  if (store_->refused() == sent) GTEST_SKIP() << "this host's queues are short: " << sent;
  store_->take_all();
  EXPECT_EQ(store_->refused(), sent);
}

TEST_F(FdStoreTest, RemovesByName) {
  make();
  Fd file = memory_file();
  Fd other = memory_file();
  tell("FDSTORE=1\nFDNAME=a", {file.get(), other.get()});
  tell("FDSTORE=1\nFDNAME=b", {file.get()});
  tell("FDSTOREREMOVE=1\nFDNAME=a");
  EXPECT_EQ(variables()["LISTEN_FDNAMES"], "b");
  tell("FDSTOREREMOVE=1\nFDNAME=unheard-of");
  EXPECT_EQ(store_->size(), 1u);
  EXPECT_EQ(store_->refused(), 0u);
}

TEST_F(FdStoreTest, OtherMessagesAreIgnoredAndTheirDescriptorsClosed) {
  make();
  Pipe pipe = *make_pipe();
  tell("READY=1");
  tell("BARRIER=1", {pipe.write.get()});
  pipe.write.close();
  EXPECT_EQ(store_->size(), 0u);
  EXPECT_EQ(read_line(pipe.read.get()), "") << "sd_notify_barrier() waits for just this";
}

TEST_F(FdStoreTest, BoundsAreCounted) {
  make(3);
  for (int i = 0; i < 5; ++i) {
    Fd file = memory_file();
    tell("FDSTORE=1\nFDNAME=n" + std::to_string(i), {file.get()});
  }
  EXPECT_EQ(variables()["LISTEN_FDNAMES"], "n0:n1:n2");
  EXPECT_EQ(store_->refused(), 2u);
  tell("FDSTOREREMOVE=1\nFDNAME=n1");
  Fd file = memory_file();
  tell("FDSTORE=1\nFDNAME=n9", {file.get()});
  EXPECT_EQ(variables()["LISTEN_FDNAMES"], "n0:n2:n9");
}

TEST_F(FdStoreTest, NamesTogetherFitOneVariable) {
  make();
  for (int i = 0; i < 600; ++i) {
    Fd file = memory_file();
    std::string number = std::to_string(i);
    tell("FDSTORE=1\nFDNAME=" + number + std::string(255 - number.size(), 'x'), {file.get()});
  }
  EXPECT_LE(variables()["LISTEN_FDNAMES"].size(), 120'000u);
  EXPECT_EQ(store_->size() + store_->refused(), 600u);
  EXPECT_GT(store_->refused(), 0u);
}

TEST_F(FdStoreTest, NamesThatWouldConfuseAreRefused) {
  make();
  Fd file = memory_file();
  for (const std::string& name : {std::string("a:b"), std::string("a b"), std::string("\x01"), std::string(256, 'x')}) {
    tell("FDSTORE=1\nFDNAME=" + name, {file.get()});
  }
  EXPECT_EQ(store_->size(), 0u);
  EXPECT_EQ(store_->refused(), 4u);
  tell("FDSTORE=1", {file.get()});
  EXPECT_EQ(variables()["LISTEN_FDNAMES"], "stored") << "as systemd calls what has no name";
}

TEST_F(FdStoreTest, MessagesThatAreCutAreRefused) {
  make();
  Fd file = memory_file();
  tell("FDSTORE=1\nFDNAME=a\n" + std::string(5000, 'x'), {file.get()});
  EXPECT_EQ(store_->size(), 0u);
  EXPECT_EQ(store_->refused(), 2u);
}

TEST_F(FdStoreTest, StrangersAreRefused) {
  make();
  std::string address = variables()["NOTIFY_SOCKET"];
  Forked stranger([&] {
    Fd file = memory_file();
    send(address, "FDSTORE=1\nFDNAME=a", {file.get()});
    return 0;
  });
  EXPECT_EQ(stranger.exit_code(), 0);
  store_->take();
  EXPECT_EQ(store_->size(), 0u);
  EXPECT_EQ(store_->refused(), 1u);
}

TEST_F(FdStoreTest, ASocketForThisUserOnlyThatDisappears) {
  make();
  std::string path = variables()["NOTIFY_SOCKET"];
  EXPECT_EQ(path, scratch_.path() + "/notify.sock");
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  store_.reset();
  EXPECT_NE(::stat(path.c_str(), &status), 0);
}

TEST_F(FdStoreTest, AnotherSupervisorsSocketIsLeftToIt) {
  make();
  std::string theirs = variables()["NOTIFY_SOCKET"];
  Result<FdStore> second = FdStore::make(scratch_.path());
  ASSERT_TRUE(second.ok());
  Fd file = memory_file();
  tell("FDSTORE=1\nFDNAME=a", {file.get()});
  EXPECT_EQ(store_->size(), 1u) << "its own messages still reach the first";
}

TEST_F(FdStoreTest, WhatAKilledOneLeftIsReplaced) {
  Forked killed([&] {
    Result<FdStore> store = FdStore::make(scratch_.path());
    ::_exit(store.ok() ? 0 : 1);
    return 0;
  });
  ASSERT_EQ(killed.exit_code(), 0);
  make();
  EXPECT_EQ(variables()["NOTIFY_SOCKET"], scratch_.path() + "/notify.sock");
  Fd file = memory_file();
  tell("FDSTORE=1\nFDNAME=a", {file.get()});
  EXPECT_EQ(store_->size(), 1u);
}

TEST_F(FdStoreTest, ALongDirectoryMakesTheNameAbstract) {
  std::string deep = scratch_.path() + "/" + std::string(120, 'd');
  Result<FdStore> made = FdStore::make(deep);
  ASSERT_TRUE(made.ok()) << made.error().message;
  store_.emplace(*std::move(made));
  store_->expect(::getpid());
  EXPECT_EQ(variables()["NOTIFY_SOCKET"].front(), '@');
  Fd file = memory_file();
  tell("FDSTORE=1\nFDNAME=a", {file.get()});
  EXPECT_EQ(store_->size(), 1u);
}

}  // namespace
}  // namespace fathom::cli
