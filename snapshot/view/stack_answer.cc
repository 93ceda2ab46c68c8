#include <algorithm>

#include "snapshot/decode/code_names.h"
#include "snapshot/view/view_answers.h"

namespace fathom::snapshot {

namespace {

class StackWriter {
 public:
  StackWriter(SnapshotView& view, const ThreadView& thread, net::JsonWriter& json)
      : view_(view), thread_(thread), json_(json), functions_(view.context().names()) {}

  void write(uint64_t row, std::optional<uint64_t> wanted_depth) {
    const CallIndex& calls = thread_.calls();
    const size_t depths = calls.depth_at(row);
    json_.key("calls").begin_array();
    for (size_t depth = 0; depth < depths; ++depth) write_one(*calls.at(depth, row), depth);
    json_.end_array();
    // Where no call is under way, the ones beside it are those of the thread.
    const size_t depth = std::min<uint64_t>(wanted_depth.value_or(depths), depths == 0 ? 0 : depths - 1);
    write_neighbours(row, depth, depths > depth ? calls.at(depth, row) : nullptr);
    functions_.write(json_);
  }

 private:
  void write_neighbours(uint64_t row, size_t depth, const Call* chosen) {
    if (depth >= thread_.calls().depths()) return;
    const std::vector<Call>& calls = thread_.calls().depth(depth);
    const uint64_t from = chosen == nullptr ? row : chosen->first_row;
    const auto at = std::ranges::partition_point(calls, [&](const Call& call) { return call.first_row < from; });
    if (at != calls.begin()) write_member("previous", *(at - 1), depth);
    const auto next = chosen == nullptr || at == calls.end() ? at : at + 1;
    if (next != calls.end()) write_member("next", *next, depth);
    if (chosen != nullptr) write_inner(row, *chosen, depth + 1);
  }

  void write_inner(uint64_t row, const Call& chosen, size_t depth) {
    if (depth >= thread_.calls().depths()) return;
    const std::vector<Call>& calls = thread_.calls().depth(depth);
    for (const uint64_t from : {row, uint64_t{chosen.first_row}}) {
      const auto at = std::ranges::partition_point(calls, [&](const Call& call) { return call.first_row < from; });
      if (at != calls.end() && at->first_row < chosen.end_row) return write_member("inner", *at, depth);
    }
  }

  void write_member(std::string_view key, const Call& call, size_t depth) {
    json_.key(key);
    write_one(call, depth);
  }
  void write_one(const Call& call, size_t depth) {
    write_call(json_, thread_, thread_.axis(ViewAxis::kTime), call, depth, functions_);
    if (!call.began_before && call.first_row > 0) write_caller(call.first_row - 1);
    json_.end_object();
  }

  // The instruction in the row before it, if that is what called it.
  void write_caller(uint64_t row) {
    const FlowItem item = thread_.flow().at_row(row).item();
    const bool called =
        item.kind == FlowKind::kBlock && (item.end == BlockEnd::kCall || item.end == BlockEnd::kFarCall);
    if (!called) return;
    json_.key("called_from").begin_object().member("address", std::string_view(hex_address(item.to)));
    const auto source = view_.context().names().own_line(thread_.pid(), item.tsc, item.to);
    if (source && source->line > 0) json_.member("file", std::string_view(source->file)).member("line", source->line);
    json_.end_object();
  }

  SnapshotView& view_;
  const ThreadView& thread_;
  net::JsonWriter& json_;
  FunctionList functions_;
};

}  // namespace

Result<std::string> stack_answer(SnapshotView& view, const ViewAsk& ask) {
  const ThreadView& thread = *view.threads()[ask.thread];
  if (auto there = check_row(thread, ask.row); !there) return there.error();
  std::string out;
  net::JsonWriter json(out);
  begin_answer(json, thread, ask);
  json.member("row", ask.row).member("offset", thread.row_offset(ask.row));
  StackWriter(view, thread, json).write(ask.row, ask.depth);
  json.end_object();
  return out + "\n";
}

}  // namespace fathom::snapshot
