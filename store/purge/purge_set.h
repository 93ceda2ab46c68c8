// PurgeSet: which traces and captures a purge removes, and the search for them.
//
// Definitions: a span matches if its attributes, those of its resource, scope, events and links together meet all
// conditions. Nothing is skipped by an index: every row is read, so that an empty result proves that nothing is left.
// Thread safety: one thread. Ownership: plain values. Memory: the traces, and the largest capture. Errors: kCorrupt:
// damage to a block, which a repair must remove first.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <boost/unordered/unordered_flat_set.hpp>

#include "base/result.h"
#include "store/capture.h"
#include "store/condition.h"
#include "store/rocks/database.h"
#include "store/rocks/sealed.h"
#include "store/verify/findings.h"

namespace fathom::store {

using TraceSet = boost::unordered_flat_set<TraceId, IdHash>;

// Whether a capture's content tells of one of these traces, or meets the conditions itself. kCorrupt: it cannot be
// decoded, so nobody knows.
using IsPurgedContent = std::function<Result<bool>(std::string_view content, const TraceSet& traces)>;

struct PurgeRule {
  std::vector<Condition> where;
  IsPurgedContent is_purged_content;
  // Asked between two segments or captures; true: the search ends with kCancelled.
  std::function<bool()> is_cancelled = [] { return false; };
};

struct PurgeSet {
  TraceSet traces;
  std::set<CaptureId> captures;  // with those that were skipped
  uint64_t matching_spans = 0;
  uint64_t skipped_captures = 0;
  std::vector<CaptureId> unreadable;  // captures that cannot be decoded, and are kept

  bool empty() const { return traces.empty() && captures.empty(); }
};

// Where a search reads.
struct PurgeSource {
  Database& database;
  std::string path;  // of the data directory
  SealedContext context;
  ViewPtr view;  // with all segments
};

// Adds what matches. Traces first, because captures tell of them.
Result<> find_purged(const PurgeSource& source, const PurgeRule& rule, Findings& progress, PurgeSet& found);

// Traces and entries of slow lists of a purged store that its indexes still name; 0 is right.
Result<uint64_t> count_indexed(const PurgeSource& source, const TraceSet& traces);

}  // namespace fathom::store
