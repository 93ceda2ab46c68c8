// ThreadView: one thread of a snapshot that is open: its flow, its calls, and its time as offsets.
//
// Purpose: the one place that knows between ticks, rows and what a page calls an offset: whole nanoseconds or ticks
// since the snapshot's first time, or, of a thread of which no packet told the time, rows. Thread safety: const
// functions from any thread. Ownership: refers to the context and the functions, which outlive it. Errors: none.
#pragma once

#include <cstdint>
#include <string_view>

#include "snapshot/analyze/answer_context.h"
#include "snapshot/view/call_index.h"
#include "snapshot/view/kept_flow.h"
#include "snapshot/view/view_ask.h"

namespace fathom::snapshot {

class ThreadView {
 public:
  ThreadView(const AnswerContext& context, CallFunctions& functions, KeptThread thread, uint64_t most_calls)
      : context_(context),
        key_(thread.key),
        flow_(std::move(thread.flow)),
        calls_(flow_, functions, key_.pid, most_calls) {}

  int32_t pid() const { return key_.pid; }
  int32_t tid() const { return key_.tid; }
  const PackedFlow& flow() const { return flow_; }
  const CallIndex& calls() const { return calls_; }

  bool has_time() const { return flow_.last_tsc() != 0; }
  std::string_view unit(ViewAxis axis = ViewAxis::kTime) const;
  ViewAxis axis(ViewAxis asked) const { return has_time() ? asked : ViewAxis::kRows; }

  // On an axis that axis() gave: a tick or a row, as an offset; always within what a number of JSON holds.
  int64_t offset(ViewAxis axis, uint64_t value) const;
  // The first value that is not before an offset, and the last one that is not behind it.
  uint64_t first_at(ViewAxis axis, int64_t offset) const;
  uint64_t last_at(ViewAxis axis, int64_t offset) const;

  // Of a row, which lies in the item.
  int64_t row_offset(const PackedFlow::Cursor& item, uint64_t row) const;
  int64_t row_offset(uint64_t row) const { return row_offset(flow_.at_row(row), row); }
  // The last row that is not behind it; 0 if all are.
  uint64_t row_at(int64_t offset) const;

 private:
  const AnswerContext& context_;
  const ThreadKey key_;
  const PackedFlow flow_;
  const CallIndex calls_;
};

}  // namespace fathom::snapshot
