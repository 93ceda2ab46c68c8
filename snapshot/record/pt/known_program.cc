// The known program as a process of its own: a fork of this one, which waits for a byte, runs, and says that it did.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "snapshot/record/pt/doctor.h"
#include "snapshot/record/pt/known_loop.h"

namespace fathom::snapshot {
namespace {

class ForkedProgram final : public KnownProgram {
 public:
  ForkedProgram() = default;
  ForkedProgram(const ForkedProgram&) = delete;
  ~ForkedProgram() override {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }

  Result<int32_t> start() override {
    auto go = make_pipe();
    auto done = make_pipe();
    if (!go || !done) return system_error("cannot start a program to record");
    child_ = ::fork();
    if (child_ < 0) return system_error("cannot start a program to record");
    if (child_ == 0) wait_and_run(go->read.get(), done->write.get());
    go_ = std::move(go->write);
    done_ = std::move(done->read);
    return child_;
  }

  Result<> run() override {
    char byte = 'g';
    if (::write(go_.get(), &byte, 1) != 1) return system_error("the program to record went away");
    // It stays until it is killed, so that it is a process while it is described.
    if (::read(done_.get(), &byte, 1) != 1) return internal("the program to record ended too early");
    return {};
  }

 private:
  [[noreturn]] static void wait_and_run(int go, int done) {
    char byte = 0;
    if (::read(go, &byte, 1) != 1) ::_exit(1);
    run_known_loop(kKnownRounds);
    if (::write(done, &byte, 1) != 1) ::_exit(1);
    while (true) ::pause();
  }

  pid_t child_ = -1;
  Fd go_;
  Fd done_;
};

}  // namespace

std::unique_ptr<KnownProgram> forked_known_program() {
  return std::make_unique<ForkedProgram>();
}

}  // namespace fathom::snapshot
