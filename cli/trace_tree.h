// TraceTree: the spans of one trace as lines of a tree, whatever state the trace is in.
//
// Purpose: every stored span is on exactly one line: children under their parents, spans whose parent has not arrived
// under a line that says so, spans that are their own ancestors (a client's bug) under a line that says that. Siblings
// stand by start. Iterative and linear: a chain of 100,000 spans is a legal trace.
// Ownership: a TraceTree copies what it needs, but `document` and `TreeSpan::source` point into the document it was
// read from. Thread safety: a plain value.
#pragma once

#include <boost/json.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace fathom::cli {

struct TreeSpan {
  std::string span_id;
  std::string parent_span_id;  // empty: a root
  std::string service;
  std::string operation;
  std::string name;  // the span's own, where it is not the operation: beyond the limit of operations
  std::string kind;
  std::string status;
  uint64_t start_unix_nano = 0;
  uint64_t duration_nano = 0;
  bool conflicting = false;  // another span has this id
  const boost::json::value* source = nullptr;

  bool error() const { return status == "error"; }
  uint64_t end_unix_nano() const;  // saturates
};

enum class LineKind { kSpan, kMissingParent, kCycle };

struct TreeLine {
  static constexpr size_t kNone = SIZE_MAX;
  LineKind kind = LineKind::kSpan;
  size_t span = kNone;   // into spans; for the other kinds: the first span below
  size_t above = kNone;  // the line that it hangs on
  uint32_t depth = 0;
  bool last_sibling = true;
};

struct TraceTree {
  std::string trace_id;
  bool complete = false;
  bool oversized = false;  // then this is a page of its spans
  uint64_t start_unix_nano = 0;
  uint64_t duration_nano = 0;  // of what is shown: latest end minus earliest start
  std::vector<TreeSpan> spans;
  std::vector<TreeLine> lines;  // in the order in which they are printed
  const boost::json::value* document = nullptr;
};

// From the server's answer; members that are missing or odd read as empty.
TraceTree build_trace_tree(const boost::json::value& trace);

}  // namespace fathom::cli
