// SnapshotView: a snapshot decoded once and kept, which answers what of it is visible, in milliseconds.
//
// Purpose: behind the page's calls over time and its list of instructions: threads, tiles of calls, pieces of the list,
// the stack at a row, and the next match. Answers are the documents of query/schema/snapshot_view.schema.json. Thread
// safety: one thread. Ownership: keeps a reference to the directory, which outlives it. Memory: eight bytes for each
// item of flow (a block of instructions, mostly) and 40 for each call, up to ViewLimits; what is beyond is left out,
// and counted in the answers. Errors: those of opening and decoding a snapshot; of an ask kInvalid and kNotFound.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "snapshot/analyze/answer_context.h"
#include "snapshot/analyze/code_extents.h"
#include "snapshot/analyze/flow_events.h"
#include "snapshot/view/function_list.h"
#include "snapshot/view/thread_view.h"
#include "snapshot/view/view_ask.h"

namespace fathom::snapshot {

struct ViewLimits {
  uint64_t most_items = 32 << 20;
  uint64_t most_calls = 3 << 20;
  unsigned threads = 0;  // to decode with; 0: one per processor
};

class SnapshotView {
 public:
  static Result<std::unique_ptr<SnapshotView>> open(const SnapshotDirectory& directory, const SnapshotId& id,
                                                    const ViewLimits& limits = {});

  Result<std::string> answer(const ViewAsk& ask);

  // What the answers are made of.
  const AnswerContext& context() const { return *context_; }
  InstructionDecoder& decoder() { return decoder_; }
  FlowEvents& events() { return events_; }
  const BlockTable& blocks() const { return kept_.blocks(); }
  const std::vector<std::unique_ptr<ThreadView>>& threads() const { return threads_; }

 private:
  SnapshotView(const SnapshotId& id, std::unique_ptr<AnswerContext> context, const ViewLimits& limits);
  void index(const ViewLimits& limits);
  std::string threads_answer() const;
  Result<std::string> source_answer(const std::string& file);
  size_t first_thread() const;
  void write_thread(net::JsonWriter& json, const ThreadView& thread) const;

  const SnapshotId id_;
  std::unique_ptr<AnswerContext> context_;
  SymbolExtents extents_;
  CallFunctions functions_;
  InstructionDecoder decoder_;
  FlowEvents events_;
  KeptFlow kept_;
  DecodeSummary summary_;
  std::vector<std::unique_ptr<ThreadView>> threads_;
  std::set<std::string> named_sources_;  // that somebody asked for
};

}  // namespace fathom::snapshot
