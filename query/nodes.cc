#include "query/nodes.h"

#include "net/json_writer.h"

namespace fathom::query {

namespace {

void write_clock(net::JsonWriter& out, const NodeRow& node) {
  if (!node.clock) return;
  out.key("clock").begin_object();
  out.member("offset_nano", node.clock->offset_nano);
  out.member("error_nano", node.clock->error_nano);
  out.member("measured_unix_nano", std::to_string(node.clock_measured_unix_nano));
  out.end_object();
}

void write_losses(net::JsonWriter& out, const NodeRow& node) {
  out.key("losses").begin_array();
  for (const auto& [reason, count] : node.losses) {
    out.begin_object().member("reason", reason).member("count", count).end_object();
  }
  out.end_array();
}

void write_node(net::JsonWriter& out, const NodeRow& node) {
  out.begin_object();
  out.member("node_id", node.node_id);
  out.member("host_name", node.host_name);
  out.member("agent_version", node.agent_version);
  out.member("connected", node.connected);
  out.member("first_seen_unix_nano", std::to_string(node.first_seen_unix_nano));
  out.member("last_seen_unix_nano", std::to_string(node.last_seen_unix_nano));
  out.member("agent_since_unix_nano", std::to_string(node.agent_since_unix_nano));
  write_clock(out, node);
  out.member("programs", node.programs);
  out.member("captures_off", node.captures_off);
  out.member("reports_skipped_captures", node.reports_skipped_captures);
  out.member("slowest_period_nano", node.slowest_period_nano);
  out.member("acknowledged_spans", node.acknowledged_spans);
  out.member("spool_bytes", node.spool_bytes);
  out.member("spool_limit_bytes", node.spool_limit_bytes);
  out.member("resident_bytes", node.resident_bytes);
  write_losses(out, node);
  out.end_object();
}

}  // namespace

std::string nodes_json(const std::vector<NodeRow>& nodes) {
  std::string json;
  net::JsonWriter out(json);
  out.begin_object().key("nodes").begin_array();
  for (const NodeRow& node : nodes) write_node(out, node);
  out.end_array().end_object();
  return json;
}

}  // namespace fathom::query
