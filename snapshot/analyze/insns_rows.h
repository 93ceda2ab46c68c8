// Rows of instructions: flow as lines of a table or objects of JSON, in order.
//
// Purpose: the printing half of `insns`. What a block reads like is put together once and kept, because flow repeats
// itself. Thread safety: none. Ownership: keeps references to the context and the writer. Errors: none; a reader that
// is gone, or a limit that is reached, ends it.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "net/json_writer.h"
#include "snapshot/analyze/answer_context.h"
#include "snapshot/analyze/flow_events.h"
#include "snapshot/analyze/instruction_decoder.h"
#include "snapshot/analyze/source_notes.h"

namespace fathom::snapshot {

class InsnsRows {
 public:
  InsnsRows(const AnswerContext& context, const Question& question, AnswerWriter& writer);

  // False: enough.
  bool print(std::span<const FlowItem> items);
  uint64_t rows() const { return rows_; }
  const SourceNotes& notes() const { return notes_; }
  bool limited() const { return question_.limit != 0 && rows_ >= question_.limit; }

 private:
  struct Line {
    std::string above;  // lines that are no rows; printed where they are not those of the row before
    std::string row;
  };
  using Lines = std::vector<Line>;

  bool print_one(const FlowItem& item);
  bool print_block(const FlowItem& item);
  bool print_event(const FlowItem& item);
  void run_thread(const FlowItem& item);
  void begin_thread();
  const Lines& lines_of(const FlowItem& item);
  std::string line_of(const DecodedInstruction& one, const CodePlace& place, uint64_t tsc) const;
  std::string json_of(const DecodedInstruction& one, const CodePlace& place, uint64_t tsc);
  Line table_line(const DecodedInstruction& one, const CodePlace& place, uint64_t tsc);
  std::string target_text(const DecodedInstruction& one, const CodePlace& place, uint64_t tsc) const;
  void begin_row(uint64_t tsc, bool time_is_known);
  bool end_row();
  void event_json(const FlowItem& item);
  void mark_json(uint64_t mark, net::JsonWriter& json) const;

  const AnswerContext& context_;
  const Question& question_;
  AnswerWriter& writer_;
  InstructionDecoder decoder_;
  FlowEvents events_;
  SourceNotes notes_;
  bool json_;
  bool shown_ = true;  // the thread is asked for
  int32_t pid_ = -1;
  int32_t tid_ = -1;
  int32_t printed_tid_ = -1;
  bool thread_printed_ = false;
  uint64_t pause_tsc_ = 0;
  std::set<int32_t> begun_;  // threads of which something was printed
  uint64_t rows_ = 0;
  std::string printed_above_;
  std::unordered_map<uint64_t, Lines> kept_;  // by DecodedBlock::id
  uint64_t kept_lines_ = 0;
};

}  // namespace fathom::snapshot
