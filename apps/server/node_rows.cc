#include "apps/server/node_rows.h"

#include <utility>

namespace fathom {

std::vector<query::NodeRow> node_rows(collector::NodeRegistry& registry) {
  std::vector<query::NodeRow> rows;
  for (collector::Node& node : registry.nodes()) {
    query::NodeRow row;
    row.node_id = node.node_id.hex();
    row.host_name = std::move(node.host_name);
    row.agent_version = std::move(node.agent_version);
    row.connected = node.connected;
    row.captures_off = node.captures_off;
    row.reports_skipped_captures = node.reports_skipped_captures;
    row.slowest_period_nano = node.slowest_period_nano;
    row.first_seen_unix_nano = node.first_seen_unix_nano;
    row.last_seen_unix_nano = node.last_seen_unix_nano;
    row.agent_since_unix_nano = node.agent_since_unix_nano;
    row.clock = node.report.clock;
    row.clock_measured_unix_nano = node.report.clock_measured_unix_nano;
    row.programs = node.report.programs;
    row.acknowledged_spans = node.report.acknowledged_spans;
    row.spool_bytes = node.report.spool_bytes;
    row.spool_limit_bytes = node.report.spool_limit_bytes;
    row.resident_bytes = node.report.resident_bytes;
    row.losses = std::move(node.report.losses);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace fathom
