#include "query/snapshots/snapshot_queries.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "query/sealed_cursor.h"
#include "query/snapshots/snapshot_json.h"
#include "query/snapshots/snapshot_store.h"

namespace fathom::query {

namespace {

constexpr uint8_t kCursorVersion = 1;
constexpr size_t kCursorBytes = 1 + 3 * 8 + 16;

Error none_kept() {
  return not_found("this server keeps no snapshots");
}

}  // namespace

uint64_t query_hash(const SnapshotsQuery& query) {
  std::string bytes;
  ByteWriter out(bytes);
  out.string("snapshots");
  out.string(query.range_text);
  out.string(query.filter.trace_id ? query.filter.trace_id->view() : "");
  out.u8(query.filter.host.has_value());
  out.string(query.filter.host.value_or(""));
  return hash64(bytes);
}

std::string encode_snapshot_cursor(const SnapshotPosition& position, uint64_t query_hash) {
  std::string bytes;
  ByteWriter out(bytes);
  out.u8(kCursorVersion);
  out.u64(position.range.from_unix_nano);
  out.u64(position.range.to_unix_nano);
  out.u64(position.cursor.instant_unix_nano);
  out.raw(position.cursor.id.view());
  return seal_cursor(std::move(bytes), query_hash);
}

Result<SnapshotPosition> decode_snapshot_cursor(std::string_view text, uint64_t query_hash) {
  Result<std::string> payload = open_cursor(text, kCursorBytes, kCursorVersion, query_hash);
  if (!payload) return payload.error();
  ByteReader in(std::string_view(*payload).substr(1));
  SnapshotPosition position;
  position.range.from_unix_nano = in.u64();
  position.range.to_unix_nano = in.u64();
  position.cursor.instant_unix_nano = in.u64();
  position.cursor.id = SnapshotId::from_bytes(in.raw(sizeof(SnapshotId))).value_or(SnapshotId{});
  return position;
}

Result<std::string> run_snapshots(const Stores& stores, SnapshotsQuery query, store::QueryBudget& budget) {
  const uint64_t hash = query_hash(query);
  std::optional<SnapshotCursor> cursor;
  if (!query.cursor.empty()) {
    auto position = decode_snapshot_cursor(query.cursor, hash);
    if (!position) return position.error();
    query.filter.range = position->range;
    cursor = position->cursor;
  }
  SnapshotPage page;
  if (stores.snapshots != nullptr) {
    auto found = stores.snapshots->page(query.filter, query.limit, cursor);
    if (!found) return found.error();
    page = *std::move(found);
  }
  std::string next;
  if (page.next) next = encode_snapshot_cursor({query.filter.range, *page.next}, hash);
  return snapshots_json(stores, page.rows, next, budget);
}

Result<std::string> run_snapshot(const Stores& stores, const SnapshotId& id, store::QueryBudget& budget) {
  if (stores.snapshots == nullptr) return none_kept();
  auto summary = stores.snapshots->find(id);
  if (!summary) return summary.error();
  if (auto paid = budget.spend((*summary)->bytes < (1 << 20) ? (*summary)->bytes : 1 << 20); !paid) return paid.error();
  return snapshot_json(*stores.snapshots, **summary, stores.snapshots->description(id));
}

Result<std::string> run_snapshot_bytes(const Stores& stores, const ContentName& name, uint64_t offset, size_t size,
                                       store::QueryBudget& budget) {
  if (stores.snapshots == nullptr) return none_kept();
  if (auto paid = budget.spend(size); !paid) return paid.error();
  return stores.snapshots->read(name, offset, size);
}

Result<std::string> run_source(const Stores& stores, const SourceQuestion& question, store::QueryBudget& budget) {
  if (stores.snapshots == nullptr) return none_kept();
  if (auto paid = budget.spend(snapshot::kMostSourceBytes); !paid) return paid.error();
  if (auto found = stores.snapshots->find(question.id); !found) return found.error();
  auto text = stores.snapshots->source(question.id, question.file, question.line, question.context);
  if (!text && text.error().code != ErrorCode::kNotFound) return text.error();
  // Other files lie below the directories, too: passwords, for example.
  if (text) {
    const auto named = stores.snapshots->look_into(question.id, question.ask, budget);
    if (!named && named.error().code != ErrorCode::kNotFound) return named.error();
    if (!named) text = not_found("no line of this snapshot is of '" + question.file + "'");
  }
  std::string out;
  net::JsonWriter json(out);
  json.begin_object().member("file", std::string_view(question.file));
  // That there is none is an answer, too: most lines are of libraries, whose sources no host has.
  if (!text) json.member("missing", std::string_view(text.error().message));
  if (text) json.member("first_line", text->first_line);
  json.key("lines").begin_array();
  if (text) {
    for (const std::string& line : text->lines) json.string(line);
  }
  json.end_array().end_object();
  return out + "\n";
}

Result<std::string> run_question(const Stores& stores, const SnapshotQuestion& question, store::QueryBudget& budget) {
  if (stores.snapshots == nullptr) return none_kept();
  if (auto found = stores.snapshots->find(question.id); !found) return found.error();
  if (question.other) {
    if (auto found = stores.snapshots->find(*question.other); !found) return found.error();
  }
  return stores.snapshots->ask(question.words, budget);
}

std::vector<SharedSummary> snapshots_of(const Stores& stores, const TraceId& trace_id) {
  if (stores.snapshots == nullptr || trace_id.is_zero()) return {};
  return stores.snapshots->of_trace(trace_id);
}

void write_snapshots(net::JsonWriter& json, const std::vector<SharedSummary>& snapshots) {
  if (snapshots.empty()) return;
  json.key("snapshots").begin_array();
  for (const SharedSummary& summary : snapshots) write_snapshot_of_trace(json, *summary);
  json.end_array();
}

}  // namespace fathom::query
