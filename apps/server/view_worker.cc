#include "apps/server/view_worker.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>

#include "apps/server/snapshot_worker.h"
#include "apps/server/worker_limits.h"
#include "base/time.h"
#include "base/whole_io.h"

namespace fathom {

namespace {

constexpr uint64_t kEndNano = kNanosPerSecond;
constexpr size_t kMostHeadBytes = 64;

Error no_answer() {
  return Error{ErrorCode::kCorrupt,
               "fathom-worker answers with what is no answer; it is started again for the next ask"};
}

}  // namespace

Result<> ViewAnswer::take(std::string_view bytes) {
  if (!size_) {
    const size_t line = bytes.find('\n');
    head_ += bytes.substr(0, line);
    if (head_.size() > kMostHeadBytes) return no_answer();
    if (line == std::string_view::npos) return {};
    if (auto head = take_head(); !head) return head;
    bytes.remove_prefix(line + 1);
  }
  if (bytes.size() > *size_ - body_.size()) return no_answer();
  body_ += bytes;
  return {};
}

Result<> ViewAnswer::take_head() {
  const size_t space = head_.find(' ');
  if (space == std::string::npos) return no_answer();
  status_ = head_.substr(0, space);
  const std::string_view digits = std::string_view(head_).substr(space + 1);
  size_t size = 0;
  const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), size);
  if (fault != std::errc() || end != digits.data() + digits.size()) return no_answer();
  if (size > most_bytes_) {
    return exhausted("the answer is larger than " + std::to_string(most_bytes_) + " bytes; ask for less of it");
  }
  size_ = size;
  return {};
}

Result<std::string> ViewAnswer::result() && {
  if (status_ == "ok") return std::move(body_);
  if (status_ == "not_found") return not_found(std::move(body_));
  if (status_ == "invalid") return invalid(std::move(body_));
  if (status_ == "internal") return internal(std::move(body_));
  return no_answer();
}

Result<> ViewWorker::start() {
  if (::access(command_.front().c_str(), X_OK) != 0) return worker_missing(command_.front());
  auto in = make_pipe();
  auto out = make_pipe();
  auto err = make_pipe();
  if (!in || !out || !err) return internal("there are no descriptors left to ask fathom-worker");
  auto child = cli::Child::start({.command = command_,
                                  .directory = "",
                                  .descriptors = {{STDIN_FILENO, in->read.get()},
                                                  {STDOUT_FILENO, out->write.get()},
                                                  {STDERR_FILENO, err->write.get()}},
                                  .environment = {},
                                  .own_pid_variable = ""});
  if (!child) return child.error();
  running_.emplace(
      Running{*std::move(child), std::move(in->write), std::move(out->read), std::move(err->read), {}, {}, false});
  return {};
}

void ViewWorker::listen() {
  char bytes[kMostWorkerWordsBytes];
  const ssize_t got = ::read(running_->words.get(), bytes, sizeof bytes);
  if (got <= 0) return running_->words.close();
  running_->said.append(bytes, static_cast<size_t>(got));
  if (running_->said.size() > kMostWorkerWordsBytes)
    running_->said.erase(0, running_->said.size() - kMostWorkerWordsBytes);
}

// Why it ended, or must.
Error ViewWorker::end() {
  died_ = true;
  const auto status = running_->child.wait(kEndNano);
  while (running_->words.open()) {
    pollfd words{running_->words.get(), POLLIN, 0};
    if (::poll(&words, 1, 0) <= 0) break;
    listen();
  }
  Error error = status ? worker_failure(*status, running_->said) : no_answer();
  running_.reset();
  return error;
}

// Of the answer that is due, what comes within a moment.
Result<> ViewWorker::read_some() {
  pollfd ends[2] = {{running_->answers.get(), POLLIN, 0},
                    {running_->words.open() ? running_->words.get() : -1, POLLIN, 0}};
  if (::poll(ends, 2, kWorkerLookMs) <= 0) return {};
  if (ends[1].revents != 0) listen();
  if (ends[0].revents == 0) return {};
  char bytes[kWorkerReadBytes];
  const ssize_t got = ::read(running_->answers.get(), bytes, sizeof bytes);
  if (got < 0 && errno == EINTR) return {};
  if (got <= 0) return end();
  auto taken = running_->due->take({bytes, static_cast<size_t>(got)});
  if (!taken) running_.reset();  // nobody knows what follows
  return taken;
}

Result<> ViewWorker::read_due(store::QueryBudget& budget) {
  while (running_->due && !running_->due->whole()) {
    if (auto going_on = budget.check(); !going_on) {
      uint64_t nobody = 0;
      abandoned_since_nano_.compare_exchange_strong(nobody, now_monotonic_nano());
      return going_on;
    }
    if (auto read = read_some(); !read) {
      abandoned_since_nano_ = 0;
      return read;
    }
  }
  abandoned_since_nano_ = 0;
  return {};
}

Result<std::string> ViewWorker::ask_running(const std::string& line, store::QueryBudget& budget) {
  if (!running_) {
    if (auto started = start(); !started) return started.error();
  }
  if (auto read = read_due(budget); !read) return read.error();
  if (auto asked = write_whole(running_->asks.get(), line + "\n", "cannot ask fathom-worker"); !asked) return end();
  running_->due.emplace(kMostAnswerBytes);
  if (auto read = read_due(budget); !read) return read.error();
  running_->answered = true;
  auto result = std::move(*running_->due).result();
  running_->due.reset();
  return result;
}

Result<std::string> ViewWorker::ask(const std::string& line, store::QueryBudget& budget) {
  std::unique_lock turn(turn_, std::defer_lock);
  while (!turn.try_lock_for(std::chrono::milliseconds(kWorkerLookMs))) {
    if (auto going_on = budget.check(); !going_on) return going_on.error();
  }
  const bool answered_before = running_ && running_->answered;
  died_ = false;
  auto answer = ask_running(line, budget);
  if (answer || !died_ || !answered_before) return answer;
  return ask_running(line, budget);
}

}  // namespace fathom
