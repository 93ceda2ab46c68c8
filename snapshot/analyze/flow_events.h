// FlowEvents: what happens between instructions, as sentences: gaps, pauses, interrupts, marks, what killed a thread.
//
// Purpose: one wording for whoever lists instructions. Thread safety: none, one per thread. Ownership: keeps references
// to the context and the decoder, whose process it leaves as it is. Errors: none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "snapshot/analyze/answer_context.h"
#include "snapshot/analyze/instruction_decoder.h"
#include "snapshot/format/deadly_signal.h"

namespace fathom::snapshot {

// "block", "gap", "pause", ..., as JSON has them.
std::string_view event_name(FlowKind kind);
// "shop::handle+0x12", "libc.so.6+0x1234": `place` is that of `ip`.
std::string with_offset(const CodePlace& place, uint64_t ip);

class FlowEvents {
 public:
  FlowEvents(const AnswerContext& context, InstructionDecoder& decoder);

  // From here on, this thread runs.
  void run(int32_t pid, int32_t tid) {
    pid_ = pid;
    tid_ = tid;
  }
  // What came before a kResume.
  struct Before {
    bool begun = true;       // the thread ran before
    uint64_t pause_tsc = 0;  // when it stopped; 0: nobody knows
  };
  std::string text(const FlowItem& item, const Before& before);

  // What fathom's client marks is the active span's id; of recordings that others made, nobody knows.
  std::optional<Id<8>> span_of(uint64_t mark) const;
  bool is_triggering(const Id<8>& span) const;
  // The signal that ended the thread where the item is; nullptr: none did.
  const DeadlySignal* deadly_signal(const FlowItem& item) const;
  std::string unrun_instruction(const FlowItem& item);

 private:
  std::string place_text(uint64_t tsc, uint64_t ip) const;
  std::string mark_text(uint64_t mark) const;
  std::string pause_text(const FlowItem& item, const std::string& at);
  std::string resume_text(const FlowItem& item, const std::string& at, const Before& before) const;

  const AnswerContext& context_;
  InstructionDecoder& decoder_;
  const std::vector<DeadlySignal> deadly_;
  int32_t pid_ = -1;
  int32_t tid_ = -1;
};

}  // namespace fathom::snapshot
