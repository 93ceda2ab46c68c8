// Supervised: one program that is kept running: started, asked whether it is ready, started again when it dies.
//
// Purpose: the Supervisor's children, each with its own state: a server that crashes is no reason to touch the agent.
// The program is started with --ready-fd N and writes one line there when it is ready. One that dies afterwards (a
// crash, kill -9, out of memory) is started again, after pauses that grow while it keeps dying soon; one that ends
// before it was ever ready cannot run here, and that is an error. A program that cannot use its data directory
// (ExitCode::kDataUnusable) is never restarted; that error is kCorrupt. Thread safety: one thread. Ownership: of the
// child, which is killed with this; of nothing else, `store` included.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/child.h"
#include "cli/fd_store.h"

namespace fathom::cli {

struct SupervisedOptions {
  std::string name;  // "server", for people
  // Asked before each start, so that it can say what was learned since; --ready-fd N is added.
  std::function<std::vector<std::string>()> command;
  std::function<Result<>(std::string_view line)> on_ready;
  std::function<Result<>()> may_start;     // asked before the first start; an error: it cannot run here
  FdStore* store = nullptr;                // what it may keep descriptors in
  bool reloads = false;                    // on SIGHUP, which would end it otherwise
  uint64_t first_pause_nano = 50'000'000;  // before a restart; doubles with every death that follows soon
  uint64_t longest_pause_nano = 5'000'000'000;
  uint64_t healthy_nano = 1'000'000'000;      // ready for so long: the next pause is the first one again
  uint64_t stop_grace_nano = 30'000'000'000;  // from SIGTERM to SIGKILL
};

class Supervised {
 public:
  explicit Supervised(SupervisedOptions options) : options_(std::move(options)) {}

  // Starts it when that is due. An error: it cannot run here.
  Result<> start_if_due(uint64_t now_monotonic_nano);
  // Looks whether it has died, and then when to start it again. An error: it was never ready.
  Result<> look();
  void read_ready();  // what is in the pipe

  bool ever_ready() const { return ever_ready_; }
  bool running() const { return child_ && child_->running(); }
  bool starting() const { return ready_pipe_.open(); }
  int ready_descriptor() const { return ready_pipe_.get(); }  // -1: nothing to read
  uint64_t due_monotonic_nano() const;                        // of the next start; UINT64_MAX while it runs
  const std::string& name() const { return options_.name; }
  const SupervisedOptions& options() const { return options_; }

  void reload() const;
  void terminate() const;
  bool ended();  // after terminate()
  void kill() { child_.reset(); }

 private:
  Result<> start();
  ChildOptions child_options(int ready_end) const;
  Error never_ready(int status) const;
  void note_ready();
  void start_again(const std::string& fault);

  SupervisedOptions options_;
  std::optional<Child> child_;
  Fd ready_pipe_;
  std::string ready_text_;
  bool ever_ready_ = false;
  uint64_t ready_since_monotonic_nano_ = 0;  // 0: not ready now
  uint64_t pause_nano_ = 0;
  uint64_t due_monotonic_nano_ = 0;
};

}  // namespace fathom::cli
