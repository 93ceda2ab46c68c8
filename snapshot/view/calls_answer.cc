#include "snapshot/view/view_answers.h"

namespace fathom::snapshot {

void begin_answer(net::JsonWriter& json, const ThreadView& thread, const ViewAsk& ask) {
  json.begin_object().member("thread", ask.thread).member("unit", thread.unit(ask.axis));
}

void write_call(net::JsonWriter& json, const ThreadView& thread, ViewAxis axis, const Call& call, size_t depth,
                FunctionList& functions) {
  const bool rows = axis == ViewAxis::kRows;
  json.begin_object().member("start", thread.offset(axis, rows ? call.first_row : call.start));
  json.member("end", thread.offset(axis, rows ? call.end_row : call.end)).member("depth", depth);
  json.member("function", functions.number(thread.calls().function(call.function)));
  json.member("first_row", call.first_row).member("last_row", call.end_row - 1);
  json.member("instructions", call.instructions).member("self_instructions", call.self_instructions);
  if (call.began_before) json.member("began_before", true);
  if (call.ended_after) json.member("ended_after", true);
}

Result<> check_row(const ThreadView& thread, uint64_t row) {
  if (row < thread.flow().rows()) return {};
  return not_found("there is no row " + std::to_string(row) + "; this thread has " +
                   std::to_string(thread.flow().rows()) + ", counted from 0");
}

namespace {

struct Stretch {
  ViewAxis axis;
  int64_t from;
  int64_t to;
};

Stretch stretch_of(const ThreadView& thread, const ViewAsk& ask) {
  const ViewAxis axis = thread.axis(ask.axis);
  const PackedFlow& flow = thread.flow();
  const bool rows = axis == ViewAxis::kRows;
  return {axis, ask.from.value_or(thread.offset(axis, rows ? 0 : flow.first_tsc())),
          ask.to.value_or(thread.offset(axis, rows ? flow.rows() : flow.last_tsc()))};
}

void write_merged(net::JsonWriter& json, const ThreadView& thread, ViewAxis axis, const CallTile& tile) {
  json.key("merged").begin_array();
  for (const MergedCalls& merged : tile.merged) {
    json.begin_object().member("start", thread.offset(axis, merged.start));
    json.member("end", thread.offset(axis, merged.end)).member("depth", merged.depth);
    json.member("calls", merged.calls).end_object();
  }
  json.end_array();
}

void write_breaks(net::JsonWriter& json, const ThreadView& thread, ViewAxis axis, const CallTile& tile) {
  json.key("breaks").begin_array();
  for (const MergedBreaks& one : tile.breaks) {
    const bool gap = one.gap != GapReason::kNone;
    json.begin_object().member("start", thread.offset(axis, one.start)).member("end", thread.offset(axis, one.end));
    json.member("kind", gap ? "gap" : "pause");
    if (gap) json.member("reason", gap_reason_name(one.gap));
    json.member("count", one.count).end_object();
  }
  json.end_array();
}

}  // namespace

Result<std::string> calls_answer(SnapshotView& view, const ViewAsk& ask) {
  const ThreadView& thread = *view.threads()[ask.thread];
  const Stretch stretch = stretch_of(thread, ask);
  if (stretch.from > stretch.to) return invalid("'from' must not be behind 'to'");
  const CallTile tile = cut_tile(thread.calls(), {.axis = stretch.axis,
                                                  .from = thread.first_at(stretch.axis, stretch.from),
                                                  .to = thread.last_at(stretch.axis, stretch.to),
                                                  .columns = ask.columns,
                                                  .first_depth = ask.first_depth,
                                                  .depths = ask.depths});
  FunctionList functions(view.context().names());
  std::string out;
  net::JsonWriter json(out);
  begin_answer(json, thread, ask);
  json.member("from", stretch.from).member("to", stretch.to).member("columns", ask.columns);
  json.member("first_depth", ask.first_depth).member("depths", tile.depths);
  json.member("left_out_depths", tile.left_out_depths).key("calls").begin_array();
  for (const ShownCall& shown : tile.calls) {
    write_call(json, thread, stretch.axis, *shown.call, shown.depth, functions);
    json.end_object();
  }
  json.end_array();
  write_merged(json, thread, stretch.axis, tile);
  write_breaks(json, thread, stretch.axis, tile);
  functions.write(json);
  json.end_object();
  return out + "\n";
}

}  // namespace fathom::snapshot
