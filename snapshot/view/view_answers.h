// The answers of a SnapshotView about one of its threads, as documents (query/schema/snapshot_view.schema.json).
//
// Thread safety: as the view's. The ask names a thread that is there. Errors: kNotFound for a row that is not there.
#pragma once

#include <string>

#include "snapshot/view/snapshot_view.h"

namespace fathom::snapshot {

Result<std::string> calls_answer(SnapshotView& view, const ViewAsk& ask);
Result<std::string> rows_answer(SnapshotView& view, const ViewAsk& ask);
Result<std::string> stack_answer(SnapshotView& view, const ViewAsk& ask);
Result<std::string> find_answer(SnapshotView& view, const ViewAsk& ask);

// What they have in common.

// Members "thread" and "unit".
void begin_answer(net::JsonWriter& json, const ThreadView& thread, const ViewAsk& ask);
// An object: a call at its depth. `functions` learns its name.
void write_call(net::JsonWriter& json, const ThreadView& thread, ViewAxis axis, const Call& call, size_t depth,
                FunctionList& functions);
Result<> check_row(const ThreadView& thread, uint64_t row);

}  // namespace fathom::snapshot
