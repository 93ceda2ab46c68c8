// Outgoing: what a stream has still to write, in order.
//
// Purpose: a stream that stands still must not gather what is sent by the clock. Of probes and of reports one each
// waits at most, the newest at the place of the oldest (a probe: behind the report, if one waits); batches are the
// Courier's to bound, and all of them wait. So are captures, behind everything else. Answers are bounded here: beyond
// kMostAnswers the oldest goes, counted in fathom_agent_unsent_answers_total. Thread safety: none. Ownership: of the
// messages.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/metrics.h"

namespace fathom::agent {

struct OutgoingMessage {
  enum class Kind { kBatch, kReport, kProbe, kAnswer, kCapture };
  Kind kind = Kind::kReport;
  std::string head;
  std::shared_ptr<const std::string> body;
  uint64_t report = 0;    // its number
  std::string_view part;  // of `body`, where it is not all that follows the head
};

class Outgoing {
 public:
  static constexpr size_t kMostAnswers = 256;

  bool empty() const { return waiting_.empty() && captures_.empty(); }
  size_t size() const { return waiting_.size() + captures_.size(); }
  void clear() {
    waiting_.clear();
    captures_.clear();
  }
  void push(OutgoingMessage message) {
    switch (message.kind) {
      case OutgoingMessage::Kind::kCapture:
        return captures_.push_back(std::move(message));
      case OutgoingMessage::Kind::kAnswer:
        drop_old_answers();
        [[fallthrough]];
      case OutgoingMessage::Kind::kBatch:
        return waiting_.push_back(std::move(message));
      case OutgoingMessage::Kind::kReport:
      case OutgoingMessage::Kind::kProbe:
        return push_only_one(std::move(message));
    }
  }
  OutgoingMessage pop() {
    std::deque<OutgoingMessage>& queue = waiting_.empty() ? captures_ : waiting_;
    OutgoingMessage first = std::move(queue.front());
    queue.pop_front();
    return first;
  }

 private:
  static auto of_kind(OutgoingMessage::Kind kind) {
    return [kind](const OutgoingMessage& message) { return message.kind == kind; };
  }
  void push_only_one(OutgoingMessage message) {
    constexpr auto kReport = OutgoingMessage::Kind::kReport;
    auto older = std::find_if(waiting_.begin(), waiting_.end(), of_kind(message.kind));
    // The answer to a probe says that the report before it was heard, so it does not overtake one.
    if (message.kind != kReport && std::any_of(older, waiting_.end(), of_kind(kReport))) {
      waiting_.erase(older);
      older = waiting_.end();
    }
    if (older == waiting_.end()) return waiting_.push_back(std::move(message));
    *older = std::move(message);
  }
  void drop_old_answers() {
    constexpr auto kAnswer = OutgoingMessage::Kind::kAnswer;
    if (std::count_if(waiting_.begin(), waiting_.end(), of_kind(kAnswer)) < static_cast<ptrdiff_t>(kMostAnswers))
      return;
    waiting_.erase(std::find_if(waiting_.begin(), waiting_.end(), of_kind(kAnswer)));
    unsent_answers().add();
  }
  static Counter& unsent_answers() {
    return counter("fathom_agent_unsent_answers_total",
                   "Answers to the collector's requests that it was too slow to read");
  }

  std::deque<OutgoingMessage> waiting_;
  std::deque<OutgoingMessage> captures_;
};

}  // namespace fathom::agent
