#include "snapshot/analyze/flow_events.h"

#include <algorithm>

#include "base/text.h"
#include "snapshot/analyze/code_labels.h"
#include "snapshot/decode/code_names.h"

namespace fathom::snapshot {

std::string_view event_name(FlowKind kind) {
  switch (kind) {
    case FlowKind::kBlock:
      return "block";
    case FlowKind::kThread:
      return "thread";
    case FlowKind::kInterrupt:
      return "interrupt";
    case FlowKind::kPause:
      return "pause";
    case FlowKind::kResume:
      return "resume";
    case FlowKind::kGap:
      return "gap";
    case FlowKind::kProgram:
      return "exec";
    case FlowKind::kMark:
      return "mark";
  }
  return "unknown";
}

std::string with_offset(const CodePlace& place, uint64_t ip) {
  const std::string name = place_name(place, ip);
  if (place.function == nullptr) return printable(name);
  return short_function_name(name) + "+" + hex_address(place.function_offset);
}

FlowEvents::FlowEvents(const AnswerContext& context, InstructionDecoder& decoder)
    : context_(context), decoder_(decoder), deadly_(deadly_signals(context.snapshot())) {}

std::string FlowEvents::place_text(uint64_t tsc, uint64_t ip) const {
  if (ip == 0) return "an unknown address";
  const CodePlace place = context_.names().find(pid_, tsc, ip);
  const std::string text = place.function != nullptr || place.image != nullptr ? " " + with_offset(place, ip) : "";
  return hex_address(ip) + text;
}

std::optional<Id<8>> FlowEvents::span_of(uint64_t mark) const {
  if (context_.snapshot().origin != Origin::kRecorded) return std::nullopt;
  const uint64_t bytes = __builtin_bswap64(mark);
  return Id<8>::from_bytes({reinterpret_cast<const char*>(&bytes), sizeof bytes});
}

bool FlowEvents::is_triggering(const Id<8>& span) const {
  return !span.is_zero() && span == context_.snapshot().trigger.span_id;
}

std::string FlowEvents::mark_text(uint64_t mark) const {
  const auto span = span_of(mark);
  if (!span) return "mark " + hex_address(mark);
  if (span->is_zero()) return "no span";
  return "span " + span->hex() + (is_triggering(*span) ? " (of the trigger)" : "");
}

const DeadlySignal* FlowEvents::deadly_signal(const FlowItem& item) const {
  if (item.kind != FlowKind::kPause) return nullptr;
  const auto at = std::ranges::find_if(
      deadly_, [&](const DeadlySignal& one) { return one.tid == tid_ && one.address == item.ip && item.ip != 0; });
  return at == deadly_.end() ? nullptr : &*at;
}

// What did not run is not in the flow.
std::string FlowEvents::unrun_instruction(const FlowItem& item) {
  FlowItem unrun;
  unrun.ip = unrun.to = item.ip;
  unrun.tsc = item.tsc;
  unrun.count = 1;
  const DecodedBlock& block = decoder_.block(unrun);
  return block.instructions.empty() ? "" : block.instructions.front().text;
}

std::string FlowEvents::pause_text(const FlowItem& item, const std::string& at) {
  const DeadlySignal* death = deadly_signal(item);
  if (death == nullptr) return "not recorded from here on" + at;
  const std::string unrun = unrun_instruction(item);
  return "killed by " + signal_name(death->signal) + at + ", which did not run" + (unrun.empty() ? "" : ": " + unrun);
}

std::string FlowEvents::resume_text(const FlowItem& item, const std::string& at, const Before& before) const {
  std::string text = (before.begun ? "recorded again" : "recording begins") + at;
  if (before.pause_tsc == 0 || item.tsc <= before.pause_tsc) return text;
  return text + ", " + context_.time().text(context_.time().duration(item.tsc - before.pause_tsc)) + " later";
}

std::string FlowEvents::text(const FlowItem& item, const Before& before) {
  const std::string at = item.ip == 0 ? "" : " at " + place_text(item.tsc, item.ip);
  switch (item.kind) {
    case FlowKind::kInterrupt:
      return "interrupt or signal" + at + ", to " + place_text(item.tsc, item.to);
    case FlowKind::kPause:
      return pause_text(item, at);
    case FlowKind::kResume:
      return resume_text(item, at, before);
    case FlowKind::kGap:
      return "gap: " + std::string(gap_reason_name(item.reason)) + at;
    case FlowKind::kProgram:
      return "the process runs another program from here on";
    case FlowKind::kMark:
      return mark_text(item.to) + at;
    case FlowKind::kBlock:
    case FlowKind::kThread:
      break;
  }
  return "";
}

}  // namespace fathom::snapshot
