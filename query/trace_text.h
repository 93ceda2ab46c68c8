// TraceText: the document of a trace (docs/api.md), written piece by piece.
//
// Purpose: the text of a trace can be a thousand times what its spans take in memory, because many of them share long
// values. It is therefore never held whole: who sends it asks for the next piece when the one before has gone. All that
// can fail happens in open(). Thread safety: one thread at a time. Ownership: owns the trace; the spans' memory stays
// charged to the query's budget until the TraceText dies. Errors: open() fails as SpanStore::trace_page() does, and
// with kInvalid for a cursor that is not one of this trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "query/queries.h"
#include "query/stores.h"
#include "store/span_store.h"

namespace fathom::query {

class TraceText {
 public:
  static Result<std::unique_ptr<TraceText>> open(const Stores& stores, const TraceId& trace_id,
                                                 store::QueryBudget& budget, const TracePage& page = {});
  ~TraceText();

  // The next piece: `enough` bytes, and at most one list of attributes or one list of captures more; less only at the
  // end.
  std::string next(size_t enough);
  bool is_complete() const;
  // Memory of the trace, without what the store shares.
  uint64_t held_bytes() const;

 private:
  struct Impl;
  static Result<std::unique_ptr<TraceText>> open_once(const Stores& stores, const TraceId& trace_id,
                                                      store::QueryBudget& budget, const TracePage& page);
  explicit TraceText(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace fathom::query
