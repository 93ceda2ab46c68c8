#include "collector/agents/session.h"

#include <array>
#include <utility>

#include "base/bytes.h"
#include "base/metrics.h"
#include "ingest/collector_messages.h"

namespace fathom::collector {

namespace {

constexpr const char* kTooLarge = "the batch is larger than Welcome allows";
constexpr uint64_t kMostAroundOtlp = 4096;  // what a batch's message has besides: less than a hundred bytes today

struct SessionMetrics {
  std::array<Counter*, kStreamEnds> ended;
  std::array<Counter*, static_cast<size_t>(ingest::Ack::Outcome::kRefused) + 1> acks;
  Counter& unknown = counter("fathom_ingest_unknown_messages_total",
                             "Messages of agents that are of a kind this collector does not know; they are ignored");

  SessionMetrics() {
    for (size_t i = 0; i < kStreamEnds; ++i) {
      ended[i] = &counter("fathom_ingest_streams_ended_total", "Agents' streams by how they ended",
                          label("reason", stream_end_label(static_cast<StreamEnd>(i))));
    }
    constexpr const char* kOutcomes[] = {"durable", "retry", "refused"};
    static_assert(std::size(kOutcomes) == std::tuple_size_v<decltype(acks)>);
    for (size_t i = 0; i < acks.size(); ++i) {
      acks[i] = &counter("fathom_ingest_acks_total", "Batches of agents by how they were answered",
                         label("outcome", kOutcomes[i]));
    }
  }
};

SessionMetrics& session_metrics() {
  static SessionMetrics all;
  return all;
}

Hash128 hash_of(const ingest::BatchIdentity& identity) {
  ByteReader in(identity.view());
  const uint64_t high = in.u64();
  return {high, in.u64()};
}

ingest::Ack ack_of(uint64_t sequence, const Answer& answer) {
  using Outcome = ingest::Ack::Outcome;
  ingest::Ack ack{.sequence = sequence, .message = answer.message};
  if (is_success(answer.verdict)) {
    ack.rejected_spans = answer.rejected_spans;
  } else if (answer.verdict == Verdict::kUnavailable) {
    ack.outcome = Outcome::kRetry;
    ack.retry_after_nano = answer.retry_delay_nano;
  } else {
    ack.outcome = Outcome::kRefused;
  }
  return ack;
}

std::string why_wrong_key(const NodeId& node_id) {
  return "node " + node_id.hex() +
         " has another key: another agent has this id. If this is that node, and its state directory lost the file "
         "node-key, delete the node's line in the file node-keys of the server's data directory, and reload or "
         "restart the server. Otherwise delete the file node-id of the agent's state directory, and the agent gets a "
         "new id";
}

}  // namespace

std::string_view stream_end_label(StreamEnd end) {
  constexpr std::string_view kLabels[] = {"finished", "invalid", "too_much", "replaced", "silent",
                                          "stopping", "gone",    "revoked",  "wrong_key"};
  static_assert(std::size(kLabels) == kStreamEnds);
  return kLabels[static_cast<size_t>(end)];
}

void list_session_metrics() {
  session_metrics();
  SessionCaptures::list_metrics();
  AgentRedaction::list_metrics();
}

AgentSession::AgentSession(std::shared_ptr<const SessionContext> context, std::weak_ptr<SessionWire> wire)
    : context_(std::move(context)), wire_(std::move(wire)) {}

AgentSession::~AgentSession() {
  closed();
}

void AgentSession::message(std::string_view bytes, Reservation memory, uint64_t received_unix_nano) {
  if (ended()) return;
  Result<ingest::AgentMessage> parsed = ingest::parse_agent_message(bytes);
  if (!parsed) return fail(StreamEnd::kInvalid, parsed.error().message);
  if (std::holds_alternative<ingest::UnknownMessage>(*parsed)) return session_metrics().unknown.add();
  bool is_hello = std::holds_alternative<ingest::Hello>(*parsed);
  if (is_hello == open())
    return fail(StreamEnd::kInvalid, is_hello ? "a second Hello" : "the first message is a Hello");
  if (auto* batch = std::get_if<ingest::Batch>(&*parsed)) return take(*batch, std::move(memory));
  if (auto* probe = std::get_if<ingest::ClockProbe>(&*parsed)) return take(*probe, received_unix_nano);
  if (auto* report = std::get_if<ingest::NodeStatus>(&*parsed)) return take(*report);
  if (auto* begin = std::get_if<ingest::CaptureBegin>(&*parsed)) return take(*begin);
  if (auto* part = std::get_if<ingest::CapturePart>(&*parsed)) return take(*part);
  if (auto* answer = std::get_if<CaptureAnswer>(&*parsed)) return take(*answer);
  if (auto* answer = std::get_if<TracepointAnswer>(&*parsed)) return take(*answer);
  if (auto* trace = std::get_if<ingest::SlowTrace>(&*parsed)) return take(*trace);
  if (auto* skipped = std::get_if<ingest::SkippedCaptures>(&*parsed)) return take(*skipped);
  take(std::get<ingest::Hello>(*parsed));
}

bool AgentSession::open() {
  std::lock_guard lock(mutex_);
  return open_;
}

bool AgentSession::ended() {
  std::lock_guard lock(mutex_);
  return ended_;
}

void AgentSession::take(ingest::Hello& hello) {
  if (!is_admitted(hello)) return;
  uint64_t stream = context_->nodes->attach(hello, [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->fail(StreamEnd::kReplaced, "this node has opened a newer stream");
  });
  bool gone = false;
  {
    std::lock_guard lock(mutex_);
    open_ = true;
    stream_ = stream;
    node_id_ = hello.node_id;
    host_name_ = hello.host_name;
    captures_ = make_captures();
    gone = ended_;
  }
  if (gone) return context_->nodes->detach(stream);  // it ended while it said hello
  welcome();
  if (hello.takes_redaction_rules && context_->redaction) send_redaction_rules();
  if (hello.takes_requests && context_->streams) be_asked(hello.slowest_period_nano);
}

bool AgentSession::is_admitted(const ingest::Hello& hello) {
  if (!context_->keys) return true;
  switch (context_->keys->admit(hello.node_id, hello.node_key)) {
    case NodeKeys::Verdict::kAdmitted:
      return true;
    case NodeKeys::Verdict::kWrongKey:
      fail(StreamEnd::kWrongKey, why_wrong_key(hello.node_id));
      return false;
    case NodeKeys::Verdict::kLater:
      fail(StreamEnd::kTooMuch, "too many new nodes come at once; this one is accepted later");
      return false;
  }
  return false;
}

void AgentSession::welcome() {
  const SessionLimits& limits = context_->limits;
  uint64_t most = context_->captures ? context_->captures->options().most_bytes : 0;
  if (auto wire = wire_.lock()) {
    wire->send(encode(ingest::Welcome{limits.collector_version, limits.max_batch_bytes, limits.max_unacknowledged_bytes,
                                      limits.max_unacknowledged_batches, most,
                                      most > 0 ? limits.max_capture_bytes_under_way : 0, most > 0}));
  }
}

void AgentSession::take(const ingest::ClockProbe& probe, uint64_t received_unix_nano) {
  auto wire = wire_.lock();
  if (wire == nullptr) return;
  const ingest::ClockReply reply{probe.sent_unix_nano, received_unix_nano, context_->now_unix_nano()};
  if (!wire->send(encode(reply))) fail(StreamEnd::kTooMuch, "the answers are not read");
}

void AgentSession::take(ingest::NodeStatus& report) {
  context_->nodes->heard(stream_, std::move(report));
}

void AgentSession::take(const ingest::Batch& batch, Reservation memory) {
  if (!next_sequence(batch.sequence)) {
    return fail(StreamEnd::kInvalid, "the batches of a stream are numbered 1, 2, 3 and so on");
  }
  std::optional<std::string> refusal = charge(batch.otlp.size());
  if (refusal) return fail(StreamEnd::kTooMuch, *refusal);
  context_->nodes->heard(stream_);
  Charge charge{batch.sequence, batch.otlp.size()};
  bool draining = false;
  {
    std::lock_guard lock(mutex_);
    draining = draining_;
  }
  if (draining) return answered(charge, {Verdict::kUnavailable, "the collector is ending", 0, kNanosPerSecond});
  if (batch.otlp.size() > context_->limits.max_batch_bytes) {
    return answered(charge, {Verdict::kOversized, kTooLarge});
  }
  context_->ingest->submit(
      Transport::kAgent, Encoding::kProtobuf, batch.otlp, std::move(memory),
      [self = shared_from_this(), charge](const Answer& answer) { self->answered(charge, answer); },
      {batch.clock, hash_of(batch.identity)});
}

bool AgentSession::next_sequence(uint64_t sequence) {
  std::lock_guard lock(mutex_);
  return sequence == ++sequence_;
}

// What is wrong with taking so much more.
std::optional<std::string> AgentSession::charge(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  const SessionLimits& limits = context_->limits;
  // A batch that is too large altogether is refused by itself, if it comes alone.
  bool alone = under_way_batches_ == 0;
  if (!alone && under_way_bytes_ + bytes > limits.max_unacknowledged_bytes) {
    return "more than " + std::to_string(limits.max_unacknowledged_bytes) + " bytes are not acknowledged";
  }
  if (under_way_batches_ >= limits.max_unacknowledged_batches) {
    return "more than " + std::to_string(limits.max_unacknowledged_batches) + " batches are not acknowledged";
  }
  under_way_bytes_ += bytes;
  ++under_way_batches_;
  return std::nullopt;
}

void AgentSession::answered(const Charge& charge, const Answer& answer) {
  {
    std::lock_guard lock(mutex_);
    under_way_bytes_ -= charge.bytes;
    --under_way_batches_;
  }
  acknowledge(ack_of(charge.sequence, answer));
  end_if_idle();
}

void AgentSession::acknowledge(const ingest::Ack& ack) {
  session_metrics().acks[static_cast<size_t>(ack.outcome)]->add();
  auto wire = wire_.lock();
  if (wire && !wire->send(encode(ack))) fail(StreamEnd::kTooMuch, "the answers are not read");
}

void AgentSession::no_room(std::string_view begin, uint64_t bytes) {
  if (open()) {
    if (std::optional<uint64_t> sequence = ingest::peek_batch(begin)) return no_room_for_batch(*sequence, bytes);
    if (no_room_for_others(begin, bytes)) return;
  }
  fail(StreamEnd::kTooMuch, "the collector has no memory for this message now");
}

void AgentSession::no_room_for_batch(uint64_t sequence, uint64_t bytes) {
  if (!next_sequence(sequence))
    return fail(StreamEnd::kInvalid, "the batches of a stream are numbered 1, 2, 3 and so on");
  // There might never be room for one that is too large, however often it came.
  bool too_large = bytes > context_->limits.max_batch_bytes + kMostAroundOtlp;
  Answer answer = too_large ? Answer{Verdict::kOversized, kTooLarge}
                            : context_->ingest->answer(unavailable("too many batches are under way; try again later"));
  context_->ingest->refused(Transport::kAgent, answer.verdict);
  acknowledge(ack_of(sequence, answer));
}

void AgentSession::half_closed() {
  {
    std::lock_guard lock(mutex_);
    half_closed_ = true;
  }
  if (auto captures = this->captures()) captures->end_incomplete();
  end_if_idle();
}

void AgentSession::hello_is_due() {
  if (!open()) fail(StreamEnd::kSilent, "there was no Hello in time");
}

void AgentSession::silent() {
  {
    std::lock_guard lock(mutex_);
    if (half_closed_) return;
  }
  fail(StreamEnd::kSilent, "no whole message came for too long");
}

void AgentSession::drain() {
  {
    std::lock_guard lock(mutex_);
    draining_ = true;
  }
  if (auto captures = this->captures()) captures->drain();
  end_if_idle();
}

void AgentSession::end_if_idle() {
  StreamEnd end = StreamEnd::kFinished;
  {
    std::lock_guard lock(mutex_);
    if (!(half_closed_ || draining_) || under_way_batches_ > 0 || ended_) return;
    if (captures_ && !captures_->idle()) return;
    if (!half_closed_) end = StreamEnd::kStopping;
  }
  fail(end, end == StreamEnd::kFinished ? "" : "the collector is ending");
}

void AgentSession::closed() {
  leave(StreamEnd::kGone);
}

void AgentSession::fail(StreamEnd end, const std::string& message) {
  leave(end);
  if (auto wire = wire_.lock()) wire->end(end, message);
}

void AgentSession::leave(StreamEnd end) {
  uint64_t stream = 0;
  bool is_asked = false;
  bool takes_rules = false;
  {
    std::lock_guard lock(mutex_);
    if (std::exchange(ended_, true)) return;
    stream = stream_;
    is_asked = is_asked_;
    takes_rules = takes_redaction_rules_;
  }
  session_metrics().ended[static_cast<size_t>(end)]->add();
  if (stream != 0) context_->nodes->detach(stream);
  if (is_asked) context_->streams->detach(stream, context_->answers.get());
  if (takes_rules) context_->redaction->detach(stream);
  if (auto captures = this->captures()) captures->end_incomplete();
}

}  // namespace fathom::collector
