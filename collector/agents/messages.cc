#include "collector/agents/messages.h"

#include "collector/agents/message_fields.h"
#include "ingest.pb.h"

namespace fathom::collector {

namespace {

constexpr size_t kMostLosses = 64;

bool read_identity(std::string_view raw, Hash128& identity) {
  if (raw.size() != 16) return false;
  ByteReader in(raw);
  identity.high = in.u64();
  identity.low = in.u64();
  return true;
}

Result<AgentMessage> parse_hello(std::string_view message) {
  HelloMessage hello;
  bool read = each_field(message, [&](const WireField& field) {
    if (field.tag == varint_field(1)) hello.protocol_version = static_cast<uint32_t>(field.bits);
    if (field.tag == bytes_field(2)) return read_id(field.bytes, hello.node_id);
    if (field.tag == bytes_field(3)) hello.host_name = text_of(field.bytes);
    if (field.tag == bytes_field(4)) hello.agent_version = text_of(field.bytes);
    if (field.tag == bytes_field(5)) return read_id(field.bytes, hello.instance_id);
    if (field.tag == varint_field(6)) hello.takes_requests = field.bits != 0;
    return true;
  });
  if (!read || hello.node_id.is_zero() || hello.instance_id.is_zero()) {
    return invalid("a Hello has a node id and an instance id of 16 bytes, not all of them zero");
  }
  if (hello.protocol_version == 0) return invalid("a Hello says which version of the protocol it speaks");
  return AgentMessage(std::move(hello));
}

Result<AgentMessage> parse_batch(std::string_view message) {
  BatchMessage batch;
  bool has_identity = false;
  bool read = each_field(message, [&](const WireField& field) {
    if (field.tag == varint_field(1)) batch.sequence = field.bits;
    if (field.tag == bytes_field(2)) return has_identity = read_identity(field.bytes, batch.identity);
    if (field.tag == bytes_field(3)) return read_clock(field.bytes, batch.clock);
    if (field.tag == bytes_field(4)) batch.otlp = field.bytes;
    return true;
  });
  if (!read || !has_identity) return invalid("a Batch is malformed, or its identity is not of 16 bytes");
  return AgentMessage(batch);
}

Result<AgentMessage> parse_probe(std::string_view message) {
  ProbeMessage probe;
  bool read = each_field(message, [&](const WireField& field) {
    if (field.tag == varint_field(1)) probe.sent_unix_nano = field.bits;
    return true;
  });
  if (!read) return invalid("a ClockProbe is malformed");
  return AgentMessage(probe);
}

bool read_node_loss(std::string_view message, NodeReport& report) {
  NamedCount loss;
  bool read = read_named_count(message, loss);
  if (report.losses.size() < kMostLosses) report.losses.emplace_back(std::move(loss.name), loss.count);
  return read;
}

bool read_report_number(const WireField& field, NodeReport& report) {
  if (field.tag == varint_field(1)) report.programs = static_cast<uint32_t>(field.bits);
  if (field.tag == varint_field(3)) report.clock_measured_unix_nano = field.bits;
  if (field.tag == varint_field(4)) report.spool_bytes = field.bits;
  if (field.tag == varint_field(5)) report.spool_limit_bytes = field.bits;
  if (field.tag == varint_field(6)) report.acknowledged_spans = field.bits;
  if (field.tag == varint_field(8)) report.resident_bytes = field.bits;
  return true;
}

Result<AgentMessage> parse_report(std::string_view message) {
  NodeReport report;
  bool read = each_field(message, [&](const WireField& field) {
    if (field.tag == bytes_field(2)) return read_clock(field.bytes, report.clock);
    if (field.tag == bytes_field(7)) return read_node_loss(field.bytes, report);
    return read_report_number(field, report);
  });
  if (!read) return invalid("a NodeStatus is malformed");
  return AgentMessage(std::move(report));
}

template <typename Message>
Result<AgentMessage> any_of(Result<Message> parsed) {
  if (!parsed) return parsed.error();
  return AgentMessage(*std::move(parsed));
}

Result<AgentMessage> parse_kind(const WireField& field) {
  switch (field.tag) {
    case bytes_field(1):
      return parse_hello(field.bytes);
    case bytes_field(2):
      return parse_batch(field.bytes);
    case bytes_field(3):
      return parse_probe(field.bytes);
    case bytes_field(4):
      return parse_report(field.bytes);
    case bytes_field(5):
      return any_of(parse_capture_begin(field.bytes));
    case bytes_field(6):
      return any_of(parse_capture_part(field.bytes));
    case bytes_field(7):
      return any_of(parse_capture_answer(field.bytes));
    case bytes_field(8):
      return any_of(parse_tracepoint_answer(field.bytes));
    default:
      return AgentMessage(UnknownMessage());
  }
}

std::string bytes_of(const fathom::ingest::v1::CollectorMessage& message) {
  return message.SerializeAsString();
}

}  // namespace

// One kind of message per message, as every sender of ours has it; of several, none would be the right one.
Result<AgentMessage> parse_agent_message(std::string_view message) {
  WireReader reader(message);
  WireField field;
  if (!reader.next(field)) {
    if (reader.failed()) return invalid("the message is no protobuf");
    return AgentMessage(UnknownMessage());
  }
  if (!reader.rest().empty()) return invalid("the message holds more than one thing");
  return parse_kind(field);
}

std::optional<uint64_t> peek_sequence(std::string_view begin) {
  ByteReader in(begin);
  if (in.varint() != bytes_field(2)) return std::nullopt;
  in.varint();  // the batch's size, most of which is not here
  if (in.varint() != varint_field(1)) return std::nullopt;
  uint64_t sequence = in.varint();
  return in.failed() ? std::nullopt : std::optional(sequence);
}

std::string welcome_message(const WelcomeMessage& welcome) {
  fathom::ingest::v1::CollectorMessage message;
  auto& out = *message.mutable_welcome();
  out.set_protocol_version(kIngestVersion);
  out.set_collector_version(welcome.collector_version);
  out.set_max_batch_bytes(welcome.max_batch_bytes);
  out.set_max_unacknowledged_bytes(welcome.max_unacknowledged_bytes);
  out.set_max_unacknowledged_batches(welcome.max_unacknowledged_batches);
  out.set_max_capture_bytes(welcome.max_capture_bytes);
  out.set_max_capture_bytes_under_way(welcome.max_capture_bytes_under_way);
  return bytes_of(message);
}

std::string ack_message(const AckMessage& ack) {
  using Wire = fathom::ingest::v1::Ack;
  fathom::ingest::v1::CollectorMessage message;
  Wire& out = *message.mutable_ack();
  out.set_sequence(ack.sequence);
  constexpr Wire::Outcome kOutcomes[] = {Wire::DURABLE, Wire::RETRY, Wire::REFUSED};
  out.set_outcome(kOutcomes[static_cast<size_t>(ack.outcome)]);
  out.set_retry_after_nano(ack.retry_after_nano);
  out.set_message(text_of(ack.message));
  out.set_rejected_spans(ack.rejected_spans);
  return bytes_of(message);
}

std::string clock_reply_message(uint64_t probe_sent_unix_nano, uint64_t received_unix_nano, uint64_t sent_unix_nano) {
  fathom::ingest::v1::CollectorMessage message;
  auto& out = *message.mutable_reply();
  out.set_probe_sent_unix_nano(probe_sent_unix_nano);
  out.set_received_unix_nano(received_unix_nano);
  out.set_sent_unix_nano(sent_unix_nano);
  return bytes_of(message);
}

}  // namespace fathom::collector
