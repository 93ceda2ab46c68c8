#include "node-agent/uplink/messages.h"

#include <algorithm>
#include <climits>

#include "base/bytes.h"
#include "ingest.pb.h"
#include "node-agent/uplink/control_messages.h"
#include "node-agent/uplink/wire_fields.h"

namespace fathom::agent {

namespace {

namespace wire = fathom::ingest::v1;

std::string encode_clock(const ClockOffset& clock) {
  std::string text;
  ByteWriter out(text);
  out.u8(varint_tag(1));
  out.svarint(clock.offset_nano);
  out.u8(varint_tag(2));
  out.varint(clock.error_nano);
  return text;
}

LinkWelcome read(const wire::Welcome& welcome) {
  return {welcome.collector_version(),          welcome.max_batch_bytes(),   welcome.max_unacknowledged_bytes(),
          welcome.max_unacknowledged_batches(), welcome.max_capture_bytes(), welcome.max_capture_bytes_under_way()};
}

LinkAck read(const wire::Ack& ack) {
  LinkAck read{.sequence = ack.sequence(),
               .retry_after_nano = ack.retry_after_nano(),
               .message = ack.message(),
               .rejected_spans = ack.rejected_spans()};
  // An outcome that is not known here must not drop anything.
  read.outcome = LinkAck::Outcome::kRetry;
  if (ack.outcome() == wire::Ack::DURABLE) read.outcome = LinkAck::Outcome::kDurable;
  if (ack.outcome() == wire::Ack::REFUSED) read.outcome = LinkAck::Outcome::kRefused;
  return read;
}

}  // namespace

std::string hello_message(const HelloFacts& hello) {
  wire::AgentMessage message;
  wire::Hello& out = *message.mutable_hello();
  out.set_protocol_version(kIngestVersion);
  out.set_node_id(text_of(hello.node_id));
  out.set_instance_id(text_of(hello.instance_id));
  out.set_host_name(hello.host_name);
  out.set_agent_version(hello.agent_version);
  out.set_takes_requests(hello.takes_requests);
  return message.SerializeAsString();
}

std::string batch_head(uint64_t sequence, const std::array<uint8_t, 16>& identity,
                       const std::optional<ClockOffset>& clock, uint64_t otlp_bytes) {
  std::string fields;
  ByteWriter out(fields);
  out.u8(varint_tag(1));
  out.varint(sequence);
  out.u8(bytes_tag(2));
  out.string(text_of(identity));
  if (clock) {
    out.u8(bytes_tag(3));
    out.string(encode_clock(*clock));
  }
  out.u8(bytes_tag(4));
  out.varint(otlp_bytes);
  return message_head(2, fields, otlp_bytes);
}

std::string probe_message(uint64_t sent_unix_nano) {
  wire::AgentMessage message;
  message.mutable_probe()->set_sent_unix_nano(sent_unix_nano);
  return message.SerializeAsString();
}

std::string status_message(const StatusFacts& status) {
  wire::AgentMessage message;
  wire::NodeStatus& out = *message.mutable_status();
  out.set_programs(status.programs);
  if (status.clock) {
    out.mutable_clock()->set_offset_nano(status.clock->offset_nano);
    out.mutable_clock()->set_error_nano(status.clock->error_nano);
    out.set_clock_measured_unix_nano(status.clock_measured_unix_nano);
  }
  out.set_spool_bytes(status.spool_bytes);
  out.set_spool_limit_bytes(status.spool_limit_bytes);
  out.set_acknowledged_spans(status.acknowledged_spans);
  out.set_resident_bytes(status.resident_bytes);
  for (const auto& [reason, count] : status.losses) {
    wire::Loss& loss = *out.add_losses();
    loss.set_reason(reason);
    loss.set_count(count);
  }
  return message.SerializeAsString();
}

std::optional<CollectorWords> parse_collector_message(std::string_view bytes) {
  wire::CollectorMessage message;
  if (bytes.size() > INT_MAX || !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return std::nullopt;
  }
  CollectorWords words;
  if (message.has_welcome()) words.welcome = read(message.welcome());
  if (message.has_ack()) words.ack = read(message.ack());
  if (message.has_reply()) {
    words.clock = ClockAnswer{message.reply().probe_sent_unix_nano(), message.reply().received_unix_nano(),
                              message.reply().sent_unix_nano()};
  }
  if (message.has_capture_progress()) words.progress = read_progress(message.capture_progress());
  words.control = read_control(message);
  return words;
}

}  // namespace fathom::agent
