// What the answers that are built on call stacks have in common: decoding, names, and how numbers are written.
//
// Thread safety: any. Errors: those of opening a snapshot and of decoding.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "net/json_writer.h"
#include "snapshot/analyze/answer_context.h"
#include "snapshot/analyze/named_calls.h"
#include "snapshot/analyze/question.h"
#include "snapshot/analyze/trace_time.h"
#include "snapshot/decode/call_stack.h"

namespace fathom::snapshot {

// A snapshot whose calls were rebuilt.
struct DecodedCalls {
  std::unique_ptr<AnswerContext> context;
  std::unique_ptr<CodeExtents> extents;
  std::unique_ptr<CallStacks> stacks;
  DecodeSummary summary;

  const Snapshot& snapshot() const { return context->snapshot(); }
  const TraceTime& time() const { return context->time(); }
  std::string name(const CallFunction& function) const;
  NamedCalls named(bool by_thread, CallRank rank = CallRank::kInstructions) const;
};

Result<DecodedCalls> decode_calls(const SnapshotDirectory& directory, const SnapshotId& id, const Question& question,
                                  CallOptions options = {});

// What stands above every table: the engine, what was recorded, instructions, gaps.
// `tid`: what follows is of that thread alone, and instructions and gaps are those of all.
std::string answer_head(const Snapshot& snapshot, const DecodeSummary& summary, int32_t tid = -1);
// The same as members of an object that is open; with "time_unit".
void answer_head_json(net::JsonWriter& json, const Snapshot& snapshot, const DecodeSummary& summary);

// Lines of columns, all but the last of them numbers.
class NumberTable {
 public:
  explicit NumberTable(std::vector<std::string> titles) : rows_{std::move(titles)} {}
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  size_t size() const { return rows_.size() - 1; }
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// The note below a table that leaves out paths of calls by this rank; empty if all are shown.
std::string left_out_text(size_t shown, size_t all, CallRank rank = CallRank::kInstructions);
// Below a table that has both: what is in them.
std::string time_note();
// What "-" in the column of calls means; empty where there is none.
std::string uncalled_note(bool any);

// Of a call; "too short" where its beginning and its end have the same time.
std::string took_text(const TraceTime& time, uint64_t ticks);

// "-" for nothing.
std::string time_cell(const TraceTime& time, uint64_t ticks);
std::string count_cell(uint64_t count);
std::string signed_cell(int64_t number);
std::string percent_text(uint64_t part, uint64_t whole);

}  // namespace fathom::snapshot
