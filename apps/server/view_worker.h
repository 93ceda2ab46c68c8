// ViewWorker: a fathom-worker that keeps one snapshot open, and the asks that go to it, one after the other.
//
// Purpose: what looks into packets is a process of its own that may die; here its answers are limited, and what it says
// is believed in nothing else (docs/formats/view.md). An asker that leaves while it waits leaves the answer behind,
// which the next one takes off first: decoding goes on for whoever asks again. A worker that ended is started again,
// and an ask that met its end is asked once more, unless it never answered anything. Thread safety: all of it; asks
// wait for each other. Ownership: the child ends with this. The process ignores SIGPIPE. Errors: kDeadline and
// kCancelled as the budget says, kExhausted for more than kMostAnswerBytes, and those of the worker, in its words.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "cli/child.h"
#include "query/snapshots/snapshot_store.h"

namespace fathom {

// An answer, put together from the bytes of a worker as they come.
class ViewAnswer {
 public:
  explicit ViewAnswer(size_t most_bytes) : most_bytes_(most_bytes) {}

  // kCorrupt: these are no answer. Bytes behind the answer are none, either.
  Result<> take(std::string_view bytes);
  bool whole() const { return size_ && body_.size() == *size_; }
  bool begun() const { return size_ || !head_.empty(); }
  Result<std::string> result() &&;

 private:
  Result<> take_head();

  const size_t most_bytes_;
  std::string head_;
  std::string status_;
  std::optional<size_t> size_;
  std::string body_;
};

class ViewWorker {
 public:
  explicit ViewWorker(std::vector<std::string> command) : command_(std::move(command)) {}

  Result<std::string> ask(const std::string& line, store::QueryBudget& budget);
  // Since when nobody has waited for an answer that is due; 0: none is.
  uint64_t abandoned_since_nano() const { return abandoned_since_nano_.load(); }

 private:
  struct Running {
    cli::Child child;
    Fd asks;
    Fd answers;
    Fd words;
    std::string said;  // its last words
    std::optional<ViewAnswer> due;
    bool answered = false;
  };

  Result<> start();
  Result<std::string> ask_running(const std::string& line, store::QueryBudget& budget);
  Result<> read_due(store::QueryBudget& budget);
  Result<> read_some();
  void listen();
  Error end();

  const std::vector<std::string> command_;
  std::timed_mutex turn_;
  std::optional<Running> running_;
  bool died_ = false;  // in the ask under way
  std::atomic<uint64_t> abandoned_since_nano_{0};
};

}  // namespace fathom
