// Outgoing: what a stream has still to write, in order.
//
// Purpose: a stream that stands still must not gather what is sent by the clock. Of probes and of reports one each
// waits at most, the newest at the place of the oldest (a probe: behind the report, if one waits); batches are the
// Courier's to bound, and all of them wait. Thread safety: none. Ownership: of the messages.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <utility>

namespace fathom::agent {

struct OutgoingMessage {
  enum class Kind { kBatch, kReport, kProbe };
  Kind kind = Kind::kReport;
  std::string head;
  std::shared_ptr<const std::string> body;
  uint64_t report = 0;  // its number
};

class Outgoing {
 public:
  bool empty() const { return waiting_.empty(); }
  size_t size() const { return waiting_.size(); }
  void clear() { waiting_.clear(); }
  void push(OutgoingMessage message) {
    auto same = [&](const OutgoingMessage& other) { return other.kind == message.kind; };
    auto older = waiting_.end();
    if (message.kind != OutgoingMessage::Kind::kBatch) older = std::find_if(waiting_.begin(), waiting_.end(), same);
    // The answer to a probe says that the report before it was heard, so it does not overtake one.
    if (message.kind == OutgoingMessage::Kind::kProbe && std::any_of(older, waiting_.end(), is_report)) {
      waiting_.erase(older);
      older = waiting_.end();
    }
    if (older == waiting_.end()) return waiting_.push_back(std::move(message));
    *older = std::move(message);
  }
  OutgoingMessage pop() {
    OutgoingMessage first = std::move(waiting_.front());
    waiting_.pop_front();
    return first;
  }

 private:
  static bool is_report(const OutgoingMessage& message) { return message.kind == OutgoingMessage::Kind::kReport; }

  std::deque<OutgoingMessage> waiting_;
};

}  // namespace fathom::agent
