#include "net/json_writer.h"
#include "query/control.h"

namespace fathom::query {

namespace {

void write_addressee(net::JsonWriter& out, const auto& node) {
  out.member("node_id", node.node_id.hex()).member("host_name", node.host_name);
}

void write(net::JsonWriter& out, const NodeReply<ingest::CaptureAnswer>& node) {
  const ingest::CaptureAnswer answer = node.answer.value_or(ingest::CaptureAnswer{});
  out.begin_object();
  write_addressee(out, node);
  out.key("captures").begin_array();
  for (const ingest::CaptureId& id : answer.capture_ids) out.string(id.hex());
  out.end_array();
  out.member("skipped", answer.skipped).member("failure", node.failure);
  out.end_object();
}

void write(net::JsonWriter& out, const ingest::ProgramTracepoints& program) {
  out.begin_object();
  out.member("pid", program.pid).member("service", program.service).member("truncated", program.truncated);
  out.key("tracepoints").begin_array();
  for (const ingest::TracepointState& tracepoint : program.tracepoints) {
    out.begin_object().member("name", tracepoint.name).member("file", tracepoint.file);
    out.member("line", tracepoint.line).member("on", tracepoint.on).end_object();
  }
  out.end_array().end_object();
}

void write(net::JsonWriter& out, const NodeReply<ingest::TracepointAnswer>& node) {
  const ingest::TracepointAnswer none{.failure = node.failure};
  const ingest::TracepointAnswer& answer = node.answer ? *node.answer : none;
  out.begin_object();
  write_addressee(out, node);
  out.member("failure", answer.failure).member("truncated", answer.truncated);
  out.key("programs").begin_array();
  for (const ingest::ProgramTracepoints& program : answer.programs) write(out, program);
  out.end_array().end_object();
}

template <typename Answer>
std::string replies_json(const Replies<Answer>& replies) {
  std::string json;
  net::JsonWriter out(json);
  out.begin_object().member("request_id", replies.request_id).key("nodes").begin_array();
  for (const auto& node : replies.nodes) write(out, node);
  out.end_array().end_object();
  return json;
}

}  // namespace

std::string to_json(const CaptureReplies& replies) {
  return replies_json(replies);
}

std::string to_json(const TracepointReplies& replies) {
  return replies_json(replies);
}

std::string to_json(const TracepointRules& rules) {
  std::string json;
  net::JsonWriter out(json);
  out.begin_object().key("rules").begin_array();
  for (const ingest::TracepointRule& rule : rules) {
    out.begin_object().member("action", rule.enables ? "enable" : "disable").member("pattern", rule.pattern);
    out.member("service", rule.service).member("node_id", rule.node_id ? rule.node_id->hex() : "").end_object();
  }
  out.end_array().end_object();
  return json;
}

}  // namespace fathom::query
