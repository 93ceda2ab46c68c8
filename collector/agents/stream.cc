#include "collector/agents/stream.h"

#include <chrono>
#include <utility>
#include <vector>

#include "collector/grpc_parts.h"

namespace fathom::collector {

namespace {

// All that agents say besides batches, captures' parts and tracepoints is smaller; it must come through while batches
// have used up the budget.
constexpr size_t kSmallMessage = 24 * 1024;
// Acknowledgements are bounded by the batches under way; only probes could make more, by whoever reads no answers.
constexpr size_t kMostOutgoing = 4096;
constexpr uint64_t kMostOutgoingBytes = 16ull << 20;  // all thresholds are less than 5 MiB

std::chrono::system_clock::time_point in(uint64_t nano) {
  return std::chrono::system_clock::now() + std::chrono::nanoseconds(nano);
}

grpc::StatusCode code_of(StreamEnd end) {
  switch (end) {
    case StreamEnd::kFinished:
      return grpc::StatusCode::OK;
    case StreamEnd::kInvalid:
      return grpc::StatusCode::INVALID_ARGUMENT;
    case StreamEnd::kTooMuch:
      return grpc::StatusCode::RESOURCE_EXHAUSTED;
    case StreamEnd::kReplaced:
      return grpc::StatusCode::ABORTED;
    case StreamEnd::kSilent:
      return grpc::StatusCode::DEADLINE_EXCEEDED;
    case StreamEnd::kStopping:
      return grpc::StatusCode::UNAVAILABLE;
    case StreamEnd::kRevoked:
      return grpc::StatusCode::UNAUTHENTICATED;
    case StreamEnd::kWrongKey:
      return grpc::StatusCode::PERMISSION_DENIED;
    case StreamEnd::kGone:
      break;
  }
  return grpc::StatusCode::CANCELLED;
}

}  // namespace

void AgentStream::open(uint64_t hello_nano, uint64_t silence_nano) {
  self_ = shared_from_this();
  session_ = std::make_shared<AgentSession>(context_, weak_from_this());
  silence_nano_ = silence_nano;
  heard_nano_ = now_monotonic_nano();
  expect_hello(hello_nano);
  expect_message(silence_nano);
  read_next();
}

void AgentStream::expect_hello(uint64_t nano) {
  hello_due_.Set(in(nano), [session = std::weak_ptr(session_)](bool due) {
    if (auto alive = session.lock(); alive && due) alive->hello_is_due();
  });
}

void AgentStream::expect_message(uint64_t nano) {
  std::lock_guard lock(mutex_);
  if (finished_) return;
  silence_due_ = std::make_unique<grpc::Alarm>();
  silence_due_->Set(in(nano), [stream = weak_from_this()](bool due) {
    if (auto alive = stream.lock(); alive && due) alive->look_for_silence();
  });
}

void AgentStream::look_for_silence() {
  const uint64_t heard = heard_nano_;  // first, or it could be later than now
  const uint64_t passed = now_monotonic_nano() - heard;
  if (passed >= silence_nano_) return session_->silent();
  expect_message(silence_nano_ - passed);
}

void AgentStream::read_next() {
  std::lock_guard lock(mutex_);
  if (!finished_) StartRead(&incoming_);
}

void AgentStream::OnReadDone(bool ok) {
  if (!ok) return call_.IsCancelled() ? session_->closed() : session_->half_closed();
  heard_nano_ = now_monotonic_nano();
  handle(context_->now_unix_nano());
  read_next();
}

void AgentStream::handle(uint64_t received_unix_nano) {
  Ingest& ingest = *context_->ingest;
  size_t size = incoming_.Length();
  // Once as gRPC has it and, for the time of its decoding, once in one piece.
  Reservation slices = ingest.open(), memory = ingest.open();
  if (size > kSmallMessage && !(slices.grow(size) && memory.grow(size))) {
    std::vector<grpc::Slice> begin;
    bool read = incoming_.Dump(&begin).ok() && !begin.empty();
    return session_->no_room(read ? view_of(begin[0]) : std::string_view(), size);
  }
  GrpcMessage message;
  if (Result<> read = message.read(incoming_); !read)
    return session_->refuse(StreamEnd::kInvalid, read.error().message);
  slices.release();
  session_->message(message.view(), std::move(memory), received_unix_nano);
}

bool AgentStream::send(std::string message) {
  std::lock_guard lock(mutex_);
  if (status_) return true;  // nobody will read it
  if (outgoing_.size() >= kMostOutgoing || outgoing_bytes_ + message.size() > kMostOutgoingBytes) return false;
  outgoing_bytes_ += message.size();
  outgoing_.push_back(std::move(message));
  if (!is_writing_) write_next();
  return true;
}

void AgentStream::write_next() {
  grpc::Slice slice(outgoing_.front());
  outgoing_bytes_ -= outgoing_.front().size();
  outgoing_.pop_front();
  writing_ = grpc::ByteBuffer(&slice, 1);
  is_writing_ = true;
  grpc::WriteOptions options;
  if (!outgoing_.empty()) options.set_buffer_hint();
  StartWrite(&writing_, options);
}

void AgentStream::OnWriteDone(bool ok) {
  std::lock_guard lock(mutex_);
  is_writing_ = false;
  if (!ok) drop_outgoing();
  if (!outgoing_.empty()) return write_next();
  finish_when_written();
}

void AgentStream::end(StreamEnd end, const std::string& message) {
  std::lock_guard lock(mutex_);
  if (status_) return;
  status_ = grpc::Status(code_of(end), message);
  // An orderly end comes after the last acknowledgement; whoever broke a rule gets nothing more.
  if (end != StreamEnd::kFinished && end != StreamEnd::kStopping) drop_outgoing();
  finish_when_written();
}

void AgentStream::drop_outgoing() {
  outgoing_.clear();
  outgoing_bytes_ = 0;
}

void AgentStream::finish_when_written() {
  if (!status_ || finished_ || is_writing_ || !outgoing_.empty()) return;
  finished_ = true;
  Finish(*status_);
}

void AgentStream::OnCancel() {
  session_->closed();
  end(StreamEnd::kGone, "the connection is gone");
}

void AgentStream::OnDone() {
  session_->closed();
  hello_due_.Cancel();
  {
    std::lock_guard lock(mutex_);
    finished_ = true;  // also when the call was cancelled: no alarm is set any more
    if (silence_due_) silence_due_->Cancel();
  }
  done_(this);
  std::shared_ptr<AgentStream> last = std::move(self_);
}

}  // namespace fathom::collector
