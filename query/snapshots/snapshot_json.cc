#include "query/snapshots/snapshot_json.h"

namespace fathom::query {

namespace {

using net::JsonWriter;
using snapshot::Engine;
using snapshot::ImageKind;
using snapshot::Origin;
using snapshot::Snapshot;

std::string_view engine_name(Engine engine) {
  if (engine == Engine::kStandIn) return "stand_in";
  return engine == Engine::kStep ? "step" : "intel_pt";
}

std::string_view origin_name(Origin origin) {
  if (origin == Origin::kPerfData) return "perf_data";
  return origin == Origin::kRawStream ? "raw_stream" : "recorded";
}

template <size_t kSize>
std::string hex_or_nothing(const Id<kSize>& id) {
  return id.is_zero() ? "" : id.hex();
}

void text(JsonWriter& json, std::string_view name, const std::string& value) {
  json.member(name, std::string_view(value));
}

void instant(JsonWriter& json, std::string_view name, uint64_t unix_nano) {
  text(json, name, std::to_string(unix_nano));
}

void write_trigger(JsonWriter& json, const snapshot::Trigger& trigger) {
  json.key("trigger").begin_object();
  text(json, "reason", trigger.reason);
  json.member("tid", trigger.tid);
  text(json, "trace_id", hex_or_nothing(trigger.trace_id));
  text(json, "span_id", hex_or_nothing(trigger.span_id));
  json.end_object();
}

void write_losses(JsonWriter& json, const std::vector<snapshot::Loss>& losses) {
  json.key("losses").begin_array();
  for (const auto& loss : losses) {
    text(json.begin_object(), "name", loss.name);
    json.member("count", loss.count).end_object();
  }
  json.end_array();
}

// The members of a row, into an object that is open.
void write_row(JsonWriter& json, const SnapshotStore& store, const SnapshotSummary& summary) {
  text(json, "id", summary.id.hex());
  json.member("engine", engine_name(summary.engine)).member("origin", origin_name(summary.origin));
  instant(json, "taken_unix_nano", summary.taken_unix_nano);
  instant(json, "received_unix_nano", summary.received_unix_nano);
  text(json, "host", summary.host);
  text(json, "command", summary.command);
  write_trigger(json, summary.trigger);
  json.member("bytes", summary.bytes)
      .member("packet_bytes", summary.packet_bytes)
      .member("streams", summary.streams)
      .member("images", summary.images);
  json.member("missing_images", store.missing_images(summary));
  write_losses(json, summary.losses);
  json.key("slowdown").real(summary.slowdown);
  json.member("damaged", summary.damaged);
}

void write_streams(JsonWriter& json, const Snapshot& snapshot) {
  json.key("threads").begin_array();
  for (const auto& stream : snapshot.streams) {
    json.begin_object().member("cpu", stream.cpu).member("pid", stream.pid).member("tid", stream.tid);
    json.member("bytes", stream.packet_bytes()).end_object();
  }
  json.end_array();
}

void write_image(JsonWriter& json, const SnapshotStore& store, const snapshot::Image& image) {
  text(json.begin_object(), "name", image.name);
  text(json, "sha256", hex_or_nothing(image.content));
  text(json, "build_id", to_hex(image.build_id));
  json.member("kind", image.kind == ImageKind::kElf ? "elf" : "flat").member("bytes", image.bytes);
  json.member("stored", !image.content.is_zero() && store.has_image(image.content));
  if (!image.missing.empty()) text(json, "missing", image.missing);
  json.end_object();
}

void write_images(JsonWriter& json, const SnapshotStore& store, const Snapshot& snapshot) {
  json.key("image_files").begin_array();
  for (const auto& image : snapshot.images) write_image(json, store, image);
  json.end_array();
}

}  // namespace

Result<std::string> snapshots_json(const Stores& stores, const std::vector<SharedSummary>& rows,
                                   const std::string& next_cursor, store::QueryBudget& budget) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().key("snapshots").begin_array();
  for (const SharedSummary& summary : rows) {
    const size_t before = out.size();
    write_row(json.begin_object(), *stores.snapshots, *summary);
    json.end_object();
    if (auto paid = budget.spend(out.size() - before); !paid) return paid.error();
  }
  json.end_array().member("next_cursor", std::string_view(next_cursor)).end_object();
  return out += "\n";
}

Result<std::string> snapshot_json(const SnapshotStore& store, const SnapshotSummary& summary,
                                  const Result<Snapshot>& description) {
  if (!description && description.error().code == ErrorCode::kNotFound) return description.error();
  std::string out;
  JsonWriter json(out);
  write_row(json.begin_object(), store, summary);
  if (description) {
    write_streams(json, *description);
    write_images(json, store, *description);
  } else {
    text(json, "problem", description.error().message);
  }
  json.end_object();
  return out += "\n";
}

void write_snapshot_of_trace(JsonWriter& json, const SnapshotSummary& summary) {
  text(json.begin_object(), "id", summary.id.hex());
  json.member("engine", engine_name(summary.engine)).key("slowdown").real(summary.slowdown);
  instant(json, "taken_unix_nano", summary.taken_unix_nano);
  text(json, "host", summary.host);
  text(json, "reason", summary.trigger.reason);
  json.member("tid", summary.trigger.tid);
  text(json, "span_id", hex_or_nothing(summary.trigger.span_id));
  if (summary.lock_holder > 0) json.member("lock_holder", summary.lock_holder);
  if (summary.blocking_thread > 0) json.member("blocking_thread", summary.blocking_thread);
  json.end_object();
}

}  // namespace fathom::query
