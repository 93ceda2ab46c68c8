#include "base/lock_holder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/fd.h"

namespace fathom {
namespace {

TEST(LockHolder, NamesTheProcess) {
  std::string file = ::testing::TempDir() + "/lock_holder_test." + std::to_string(::getpid());
  EXPECT_EQ(lock_holder(file), std::nullopt) << "no file";
  ASSERT_TRUE(Fd(::open(file.c_str(), O_CREAT | O_RDWR, 0600)).open());
  EXPECT_EQ(lock_holder(file), std::nullopt) << "no lock";
  Result<Pipe> locked = make_pipe();
  ASSERT_TRUE(locked.ok());
  pid_t child = ::fork();
  if (child == 0) {
    Fd lock(::open(file.c_str(), O_RDWR));
    struct flock wanted {};
    wanted.l_type = F_WRLCK;
    bool done = ::fcntl(lock.get(), F_SETLK, &wanted) == 0 && ::write(locked->write.get(), "x", 1) == 1;
    if (done) ::pause();
    ::_exit(1);
  }
  locked->write.close();
  char said = 0;
  EXPECT_EQ(::read(locked->read.get(), &said, 1), 1);
  std::string holder = lock_holder(file).value_or("nobody");
  EXPECT_EQ(holder.find("process " + std::to_string(child) + " (base_tests"), 0u) << holder;
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(lock_holder(file), std::nullopt) << "nobody any more";
  ::unlink(file.c_str());
}

}  // namespace
}  // namespace fathom
