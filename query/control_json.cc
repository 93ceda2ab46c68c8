#include "net/json_writer.h"
#include "query/control.h"

namespace fathom::query {

namespace {

void write(net::JsonWriter& out, const NodeCaptures& node) {
  out.begin_object();
  out.member("node_id", node.node_id).member("host_name", node.host_name);
  out.key("captures").begin_array();
  for (const std::string& id : node.captures) out.string(id);
  out.end_array();
  out.member("skipped", node.skipped).member("failure", node.failure);
  out.end_object();
}

void write(net::JsonWriter& out, const ProgramRow& program) {
  out.begin_object();
  out.member("pid", program.pid).member("service", program.service).member("truncated", program.truncated);
  out.key("tracepoints").begin_array();
  for (const TracepointRow& row : program.tracepoints) {
    out.begin_object().member("name", row.name).member("file", row.file).member("line", row.line);
    out.member("on", row.on).end_object();
  }
  out.end_array().end_object();
}

void write(net::JsonWriter& out, const NodeTracepoints& node) {
  out.begin_object();
  out.member("node_id", node.node_id).member("host_name", node.host_name);
  out.member("failure", node.failure).member("truncated", node.truncated);
  out.key("programs").begin_array();
  for (const ProgramRow& program : node.programs) write(out, program);
  out.end_array().end_object();
}

template <typename Replies>
std::string replies_json(const Replies& replies) {
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

std::string to_json(const TracepointRuleRows& rules) {
  std::string json;
  net::JsonWriter out(json);
  out.begin_object().key("rules").begin_array();
  for (const TracepointRuleRow& rule : rules.rules) {
    out.begin_object().member("action", rule.enables ? "enable" : "disable").member("pattern", rule.pattern);
    out.member("service", rule.service).member("node_id", rule.node_id).end_object();
  }
  out.end_array().end_object();
  return json;
}

}  // namespace fathom::query
