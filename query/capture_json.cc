// The JSON of captures: headers, lists, and the summary of one; docs/api.md describes them.
#include "base/capture_trigger.h"
#include "capture/shared_reason.h"
#include "query/captures.h"
#include "query/exit_signal.h"
#include "query/instant_json.h"

namespace fathom::query {

namespace {

using net::JsonWriter;

void member_id(JsonWriter& json, std::string_view name, const std::string& hex, bool is_none) {
  json.member(name, std::string_view(is_none ? "" : hex));
}

void write_losses(JsonWriter& json, const std::vector<store::CaptureLoss>& losses) {
  json.begin_array();
  for (const auto& loss : losses) {
    json.begin_object().member("name", std::string_view(loss.name)).member("count", loss.count).end_object();
  }
  json.end_array();
}

void write_thread(JsonWriter& json, const capture::Thread& thread) {
  json.begin_object().member("tid", thread.tid).member("name", std::string_view(thread.name));
  json.member("events", thread.events.size()).member("kernel_events", thread.kernel_events.size());
  json.member("open_spans", thread.open.size()).end_object();
}

void write_summary(JsonWriter& json, const store::CaptureInfo& info, const capture::Capture& content) {
  json.member("reason", std::string_view(capture::reason_of(content.reason, info.operation)));
  json.member("process_ended", content.ended);
  if (const std::string signal = exit_signal(content); !signal.empty())
    json.member("exit_signal", std::string_view(signal));
  json.member("kernel_missing", std::string_view(content.kernel_missing));
  json.member("tracepoints", content.tracepoints.size()).key("threads").begin_array();
  for (const auto& thread : content.threads) write_thread(json, thread);
  json.end_array();
}

}  // namespace

void write_capture(JsonWriter& json, const store::StoredCapture& stored) {
  const store::CaptureInfo& info = stored.info;
  json.member("id", std::string_view(info.id.hex()));
  member_id(json, "trace_id", info.trace_id.hex(), info.trace_id.is_zero());
  json.member("node_id", std::string_view(info.node_id.hex()));
  json.member("host_name", std::string_view(info.node_name)).member("service", std::string_view(info.service));
  json.member("pid", info.pid).member("trigger", name_of(info.trigger));
  json.member("operation", std::string_view(info.operation));
  member_id(json, "span_id", info.span_id.hex(), info.span_id.is_zero());
  write_instant(json, "start_time_unix_nano", info.start_unix_nano);
  write_instant(json, "end_time_unix_nano", info.end_unix_nano);
  write_instant(json, "received_unix_nano", info.received_unix_nano);
  json.member("size_bytes", info.size_bytes);
  if (info.clock) {
    json.key("clock").begin_object().member("offset_nano", info.clock->offset_nano);
    json.member("error_nano", info.clock->error_nano).end_object();
  }
  json.member("damaged", stored.damaged).member("truncated", info.truncated);
  json.member("crosses_clock_jump", info.crosses_clock_jump);
  write_losses(json.key("losses"), info.losses);
}

std::string to_json(const CapturesAnswer& answer) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().key("captures").begin_array();
  for (const auto& stored : answer.rows) {
    write_capture(json.begin_object(), stored);
    json.end_object();
  }
  json.end_array().member("next_cursor", std::string_view(answer.next_cursor)).end_object();
  return out += "\n";
}

Result<std::string> run_capture(const Stores& stores, const store::CaptureId& id, store::QueryBudget& budget) {
  auto stored = find_capture(stores, id);
  if (!stored) return stored.error();
  auto content = decoded_content(stores, *stored, budget);
  if (auto going_on = budget.check(); !going_on) return going_on.error();
  std::string out;
  JsonWriter json(out);
  write_capture(json.begin_object(), *stored);
  if (content) {
    write_summary(json, stored->info, *content);
  } else {
    json.member("problem", std::string_view(content.error().message));
  }
  json.end_object();
  return out += "\n";
}

}  // namespace fathom::query
