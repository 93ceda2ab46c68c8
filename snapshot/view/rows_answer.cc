#include <algorithm>

#include "snapshot/decode/call_part.h"
#include "snapshot/decode/code_names.h"
#include "snapshot/view/view_answers.h"

namespace fathom::snapshot {

namespace {

class RowsWriter {
 public:
  RowsWriter(SnapshotView& view, const ThreadView& thread, net::JsonWriter& json)
      : view_(view), thread_(thread), json_(json), functions_(view.context().names()) {
    view_.decoder().run(thread.pid());
    view_.events().run(thread.pid(), thread.tid());
  }

  void write(uint64_t first, uint64_t end) {
    json_.key("rows").begin_array();
    for (PackedFlow::Cursor at = thread_.flow().at_row(first); !at.ended() && at.row() < end; at.next()) {
      const FlowItem item = at.item();
      if (item.kind != FlowKind::kBlock) {
        write_event(at, item);
        continue;
      }
      const uint64_t behind = std::min(end, at.row() + item.count);
      for (uint64_t row = std::max(first, at.row()); row < behind; ++row) write_instruction(at, item, row);
    }
    json_.end_array();
    functions_.write(json_);
  }

 private:
  void begin_row(const PackedFlow::Cursor& at, uint64_t row, std::string_view kind) {
    json_.begin_object().member("row", row).member("offset", thread_.row_offset(at, row));
    if (row > at.row() || row < thread_.flow().guessed_rows()) json_.member("time_guessed", true);
    json_.member("kind", kind);
    const size_t depth = thread_.calls().depth_at(row);
    if (depth > 0) json_.member("depth", depth - 1);
  }

  void write_instruction(const PackedFlow::Cursor& at, const FlowItem& item, uint64_t row) {
    begin_row(at, row, "instruction");
    const DecodedBlock& block = view_.decoder().block(item);
    const uint64_t within = row - at.row();
    if (within < block.instructions.size()) {
      write_decoded(block.instructions[within], item.tsc);
    } else {
      json_.member("text", "(its bytes are not known)");
      if (within == 0) write_place(item.ip, item.tsc);
    }
    json_.end_object();
  }

  void write_decoded(const DecodedInstruction& one, uint64_t tsc) {
    json_.member("text", std::string_view(one.text));
    const CodePlace place = write_place(one.address, tsc);
    if (one.target == 0 || (one.target >= place.begin && one.target < place.end)) return;
    const CodePlace target = view_.context().names().find(thread_.pid(), tsc, one.target);
    if (target.function != nullptr) json_.member("target", std::string_view(place_name(target, one.target)));
  }

  CodePlace write_place(uint64_t address, uint64_t tsc) {
    const CodeNames& names = view_.context().names();
    json_.member("address", std::string_view(hex_address(address)));
    const CodePlace place = names.find(thread_.pid(), tsc, address);
    if (place.function == nullptr && place.image == nullptr) return place;
    json_.member("function", functions_.number(place, thread_.pid(), tsc));
    json_.member("function_offset", place.function != nullptr ? place.function_offset : place.image_offset);
    const auto source = names.line(thread_.pid(), tsc, address);
    if (!source || source->line == 0) return place;
    json_.member("file", std::string_view(source->file)).member("line", source->line);
    const auto own = names.own_line(thread_.pid(), tsc, address);
    if (!own || (own->line == source->line && own->file == source->file)) return place;
    json_.key("inlined_at").begin_object().member("file", std::string_view(own->file)).member("line", own->line);
    json_.end_object();
    return place;
  }

  void write_event(const PackedFlow::Cursor& at, const FlowItem& item) {
    const bool turn = item.kind == FlowKind::kThread;
    begin_row(at, at.row(), turn ? (turn_begins(item) ? "resume" : "pause") : event_name(item.kind));
    if (turn) {
      json_.member("text", turn_text(at, item)).end_object();
      return;
    }
    if (item.kind == FlowKind::kGap) json_.member("reason", gap_reason_name(item.reason));
    json_.member("text", std::string_view(view_.events().text(item, before(at))));
    if (item.ip != 0) write_place(item.ip, item.tsc);
    json_.end_object();
  }

  std::string turn_text(const PackedFlow::Cursor& at, const FlowItem& item) const {
    if (!turn_begins(item)) return "its turn on a processor ends";
    const TraceTime& time = view_.context().time();
    const uint64_t since = before(at).pause_tsc;
    if (since == 0 || item.tsc <= since) return "its next turn begins";
    return "its next turn begins, " + time.text(time.duration(item.tsc - since)) + " later";
  }

  // The pause, if one stands right before it.
  FlowEvents::Before before(const PackedFlow::Cursor& at) const {
    if (at.number() == 0) return {false, 0};
    const FlowItem item = thread_.flow().at_item(at.number() - 1).item();
    const bool pause = item.kind == FlowKind::kPause || item.kind == FlowKind::kThread;
    return {true, pause ? item.tsc : 0};
  }

  SnapshotView& view_;
  const ThreadView& thread_;
  net::JsonWriter& json_;
  FunctionList functions_;
};

}  // namespace

Result<std::string> rows_answer(SnapshotView& view, const ViewAsk& ask) {
  const ThreadView& thread = *view.threads()[ask.thread];
  const uint64_t total = thread.flow().rows();
  uint64_t first = std::min(ask.row, total);
  std::string out;
  net::JsonWriter json(out);
  begin_answer(json, thread, ask);
  if (ask.at) {
    const uint64_t row = thread.row_at(*ask.at);
    json.member("at_row", row);
    first = row - std::min(row, ask.count / 2);
  }
  json.member("first_row", first).member("total_rows", total);
  RowsWriter(view, thread, json).write(first, std::min(total, first + ask.count));
  json.end_object();
  return out + "\n";
}

}  // namespace fathom::snapshot
