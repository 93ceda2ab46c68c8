// AgentSession's side that is not about spans: captures, and what the agent is asked.
#include <utility>
#include <vector>

#include "base/metrics.h"
#include "collector/agents/capture_info.h"
#include "collector/agents/session.h"
#include "ingest/limits.h"

namespace fathom::collector {

namespace {

constexpr uint64_t kMostAroundContent = 256;  // what a part's message has besides
constexpr const char* kNoMemory = "the collector has no memory for the answer now";

}  // namespace

std::shared_ptr<SessionCaptures> AgentSession::captures() {
  std::lock_guard lock(mutex_);
  return captures_;
}

std::shared_ptr<SessionCaptures> AgentSession::make_captures() {
  SessionCaptures::Peer peer;
  peer.send = [wire = wire_](std::string message) {
    auto to = wire.lock();
    return to == nullptr || to->send(std::move(message));
  };
  peer.reads_too_little = [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->fail(StreamEnd::kTooMuch, "the answers are not read");
  };
  peer.answered = [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->end_if_idle();
  };
  return std::make_shared<SessionCaptures>(context_->captures, context_->limits.max_capture_bytes_under_way,
                                           std::move(peer));
}

void AgentSession::end_for(const std::optional<Breach>& breach) {
  if (breach) fail(breach->end, breach->message);
}

void AgentSession::take(ingest::CaptureBegin& begin) {
  context_->nodes->heard(stream_);
  const bool content_is_stored = begin.content_is_stored;
  const std::string rejection =
      context_->redaction ? context_->redaction->why_rejected(begin.redaction_fingerprint, node_id_) : std::string();
  const store::CaptureInfo info = capture_info(std::move(begin), node_id_, host_name_);
  SessionCaptures::Begun begun = captures()->begin(info, content_is_stored, rejection);
  // Not of those that are refused: they cost an agent nothing, and what listens has bounds.
  if (begun.is_under_way && context_->answers) context_->answers->capture_begins(node_id_, info);
  end_for(begun.breach);
}

void AgentSession::take(const ingest::CapturePart& part) {
  end_for(captures()->part(part));
}

void AgentSession::take(ingest::SlowTrace& trace) {
  if (!context_->answers) return;
  // Requests for captures on other nodes give it as their reason.
  if (context_->redaction) trace.operation = context_->redaction->operation(std::move(trace.operation));
  context_->answers->slow_trace(node_id_, std::move(trace));
}

void AgentSession::take(ingest::SkippedCaptures& skipped) {
  context_->nodes->heard(stream_);
  std::vector<store::SkippedCapture> all;
  for (ingest::SkippedCapture& one : skipped) {
    if (context_->redaction) {
      one.service = context_->redaction->service(std::move(one.service));
      one.operation = context_->redaction->operation(std::move(one.operation));
    }
    all.push_back(skipped_capture(std::move(one), node_id_, host_name_));
  }
  captures()->skipped(std::move(all));
}

void AgentSession::take(CaptureAnswer& answer) {
  if (context_->answers) context_->answers->answered(node_id_, std::move(answer));
}

void AgentSession::take(TracepointAnswer& answer) {
  if (context_->answers) context_->answers->answered(node_id_, std::move(answer));
}

// From now on others may send to this agent. The stream may end at any moment, also before that is known here; and the
// node may have a newer one by now.
void AgentSession::be_asked(uint64_t period_nano) {
  context_->streams->attach({node_id_, host_name_, stream_, period_nano}, wire_, context_->answers.get());
  bool gone = false;
  {
    std::lock_guard lock(mutex_);
    is_asked_ = true;
    gone = ended_;
  }
  if (gone) context_->streams->detach(stream_, context_->answers.get());
}

// As be_asked(): the stream may end at any moment.
void AgentSession::send_redaction_rules() {
  context_->redaction->attach(stream_, wire_);
  bool gone = false;
  {
    std::lock_guard lock(mutex_);
    takes_redaction_rules_ = true;
    gone = ended_;
  }
  if (gone) context_->redaction->detach(stream_);
}

// False: it is no message that may go missing.
bool AgentSession::no_room_for_others(std::string_view begin, uint64_t bytes) {
  if (std::optional<store::CaptureId> id = ingest::peek_capture_part(begin)) {
    if (bytes > ingest::kMostCapturePartBytes + kMostAroundContent) return false;
    captures()->no_room(*id);
    return true;
  }
  std::optional<uint64_t> request = ingest::peek_tracepoint_answer(begin);
  if (!request) return false;
  TracepointAnswer answer{.request_id = *request, .failure = kNoMemory, .truncated = true};
  take(answer);
  return true;
}

}  // namespace fathom::collector
