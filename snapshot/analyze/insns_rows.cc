#include "snapshot/analyze/insns_rows.h"

#include <algorithm>

#include "base/text.h"
#include "net/json_writer.h"
#include "snapshot/analyze/code_labels.h"
#include "snapshot/decode/code_names.h"

namespace fathom::snapshot {
namespace {

constexpr uint64_t kMostKeptLines = 200'000;
constexpr size_t kTimeColumns = 14;
constexpr size_t kAddressColumns = 14;
constexpr size_t kInstructionColumns = 40;

CodePlace moved(CodePlace place, uint64_t from, uint64_t to) {
  place.function_offset += to - from;
  place.image_offset += to - from;
  return place;
}

}  // namespace

InsnsRows::InsnsRows(const AnswerContext& context, const Question& question, AnswerWriter& writer)
    : context_(context),
      question_(question),
      writer_(writer),
      decoder_(context.images(), context.map()),
      events_(context, decoder_),
      notes_(context.names(), question),
      json_(question.format == Format::kJson) {}

bool InsnsRows::print(std::span<const FlowItem> items) {
  return std::ranges::all_of(items, [this](const FlowItem& item) { return print_one(item); });
}

bool InsnsRows::print_one(const FlowItem& item) {
  if (item.kind == FlowKind::kThread) run_thread(item);
  if (item.kind == FlowKind::kThread || !shown_) return true;
  begin_thread();
  const bool more = item.kind == FlowKind::kBlock ? print_block(item) : print_event(item);
  begun_.insert(tid_);
  return more;
}

void InsnsRows::run_thread(const FlowItem& item) {
  pid_ = item_pid(item);
  tid_ = item_tid(item);
  shown_ = question_.tid < 0 || question_.tid == tid_;
  decoder_.run(pid_);
  events_.run(pid_, tid_);
}

// Above its first row: a thread may get its turn and run nothing.
void InsnsRows::begin_thread() {
  if (json_ || (thread_printed_ && printed_tid_ == tid_)) return;
  thread_printed_ = true;
  printed_tid_ = tid_;
  std::string& out = writer_.buffer();
  out += tid_ < 0 ? "-- an unknown thread" : "-- thread " + std::to_string(tid_);
  const std::string name = context_.thread_name(tid_);
  if (!name.empty()) out += " (" + printable(name) + ")";
  if (pid_ >= 0) out += " of process " + std::to_string(pid_);
  out += "\n";
}

// Time first, right-aligned; nothing where it is not known, and within a block.
void InsnsRows::begin_row(uint64_t tsc, bool time_is_known) {
  std::string& out = writer_.buffer();
  std::string text;
  if (const auto time = context_.since_begin(tsc); time && time_is_known) text = std::to_string(*time);
  if (!json_) {
    out.append(kTimeColumns - std::min(text.size(), kTimeColumns), ' ').append(text).append("  ");
    return;
  }
  out += rows_ > 0 ? ",\n" : "\n";
  out += "{\"time\":" + (text.empty() ? "null" : text) + ",\"tid\":" + std::to_string(tid_) + ",";
}

bool InsnsRows::end_row() {
  writer_.buffer() += json_ ? "}" : "\n";
  ++rows_;
  return writer_.written() && !limited();
}

bool InsnsRows::print_block(const FlowItem& item) {
  bool first = true;
  for (const Line& line : lines_of(item)) {
    if (line.above != printed_above_) writer_.buffer() += printed_above_ = line.above;
    begin_row(item.tsc, first || json_);
    writer_.buffer() += line.row;
    if (!end_row()) return false;
    first = false;
  }
  return true;
}

const InsnsRows::Lines& InsnsRows::lines_of(const FlowItem& item) {
  const DecodedBlock& block = decoder_.block(item);
  if (kept_lines_ > kMostKeptLines) {
    kept_.clear();
    kept_lines_ = 0;
  }
  const auto [at, fresh] = kept_.try_emplace(block.id);
  if (!fresh) return at->second;
  CodePlace place;
  uint64_t from = 0;  // the address that `place` is of
  for (const DecodedInstruction& one : block.instructions) {
    if (one.address < place.begin || one.address >= place.end) {
      place = context_.names().find(pid_, item.tsc, one.address);
      from = one.address;
    }
    const CodePlace here = moved(place, from, one.address);
    at->second.push_back(json_ ? Line{"", json_of(one, here, item.tsc)} : table_line(one, here, item.tsc));
  }
  kept_lines_ += block.instructions.size() + 1;
  return at->second;
}

// Where a direct branch leaves the function, that of its target.
std::string InsnsRows::target_text(const DecodedInstruction& one, const CodePlace& place, uint64_t tsc) const {
  if (one.target == 0 || (one.target >= place.begin && one.target < place.end)) return "";
  const CodePlace target = context_.names().find(pid_, tsc, one.target);
  return target.function == nullptr ? "" : place_name(target, one.target);
}

InsnsRows::Line InsnsRows::table_line(const DecodedInstruction& one, const CodePlace& place, uint64_t tsc) {
  return {notes_.above(pid_, tsc, one.address), line_of(one, place, tsc)};
}

std::string InsnsRows::line_of(const DecodedInstruction& one, const CodePlace& place, uint64_t tsc) const {
  std::string text = one.text;
  const std::string target = target_text(one, place, tsc);
  if (!target.empty()) text += " <" + short_function_name(target) + ">";
  std::string line = pad_to_width(hex_address(one.address), kAddressColumns, Align::kLeft) + "  " +
                     pad_to_width(text, kInstructionColumns, Align::kLeft) + "  " + with_offset(place, one.address);
  const auto source = context_.names().line(pid_, tsc, one.address);
  if (source) line += "  " + short_line(*source);
  return line;
}

std::string InsnsRows::json_of(const DecodedInstruction& one, const CodePlace& place, uint64_t tsc) {
  std::string out;
  net::JsonWriter json(out);
  json.begin_object().member("address", std::string_view(hex_address(one.address)));
  json.member("instruction", std::string_view(one.text)).member("mnemonic", mnemonic_name(one.mnemonic));
  const std::string target = target_text(one, place, tsc);
  if (!target.empty()) json.member("target", std::string_view(target));
  if (place.image != nullptr) json.member("image", std::string_view(place.image->name));
  if (place.function != nullptr) {
    json.member("symbol", std::string_view(place.function->name)).member("offset", place.function_offset);
  }
  if (const auto source = context_.names().line(pid_, tsc, one.address)) {
    json.member("file", std::string_view(source->file)).member("line", source->line);
  }
  notes_.write(json, pid_, tsc, one.address);
  json.end_object();
  return out.substr(1, out.size() - 2);  // the row's own braces go around
}

bool InsnsRows::print_event(const FlowItem& item) {
  printed_above_.clear();
  begin_row(item.tsc, true);
  if (json_) {
    event_json(item);
  } else {
    writer_.buffer() += "-- " + events_.text(item, {begun_.contains(tid_), pause_tsc_});
  }
  if (item.kind == FlowKind::kPause) pause_tsc_ = item.tsc;
  if (item.kind == FlowKind::kResume) pause_tsc_ = 0;
  return end_row();
}

void InsnsRows::mark_json(uint64_t mark, net::JsonWriter& json) const {
  json.member("value", std::string_view(hex_address(mark)));
  const auto span = events_.span_of(mark);
  if (!span) return;
  json.key("span_id");
  span->is_zero() ? json.null() : json.string(span->hex());
  json.member("of_trigger", events_.is_triggering(*span));
}

void InsnsRows::event_json(const FlowItem& item) {
  std::string out;
  net::JsonWriter json(out);
  json.begin_object().member("event", event_name(item.kind));
  if (item.kind == FlowKind::kGap) json.member("reason", gap_reason_name(item.reason));
  if (item.ip != 0) json.member("address", std::string_view(hex_address(item.ip)));
  if (const DeadlySignal* death = events_.deadly_signal(item)) {
    json.member("killed_by", std::string_view(signal_name(death->signal)));
    json.member("instruction_not_run", std::string_view(events_.unrun_instruction(item)));
  }
  if (item.kind == FlowKind::kInterrupt) json.member("to", std::string_view(hex_address(item.to)));
  if (item.kind == FlowKind::kMark) mark_json(item.to, json);
  json.end_object();
  writer_.buffer() += std::string_view(out).substr(1, out.size() - 2);
}

}  // namespace fathom::snapshot
