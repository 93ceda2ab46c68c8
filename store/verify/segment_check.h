// SegmentCheck: reads one segment from end to end and compares its parts with each other and with the trace index.
//
// Purpose: every column of every block decodes; rows, zones, filters, summaries, the segment's record, the trace index
// and the list of grown traces say the same. What the rows say goes to an IndexBuilder, for the check of the lists.
// Thread safety: one thread. Ownership: everything given outlives it. Memory: one block and one trace, and the builder.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "store/rocks/catalogue.h"
#include "store/rocks/index_builder.h"
#include "store/rocks/sealed.h"
#include "store/verify/findings.h"

namespace fathom::store {

class SegmentCheck {
 public:
  SegmentCheck(SealedReader& reader, const Catalogue& catalogue, Findings& findings)
      : reader_(reader), catalogue_(catalogue), findings_(findings) {}

  // True when all rows were read; the builder then has all of them.
  bool check(const SegmentInfo& info, IndexBuilder& index);

 private:
  // What the rows of a segment add up to.
  struct Sums {
    uint64_t rows = 0;
    uint64_t traces = 0;
    uint64_t min_start_unix_nano = UINT64_MAX;
    uint64_t max_start_unix_nano = 0;
    uint64_t max_span_duration_nano = 0;
    uint64_t max_trace_duration_nano = 0;
  };
  // A trace whose rows are being collected: the last one of a block can go on in the next.
  struct OpenTrace {
    TraceId id;
    uint32_t first_block = 0;
    TraceSummary summary;
    std::vector<TraceRow> rows;
    bool partial = false;  // a damaged block may have had more of them
  };

  void check_directory(const SegmentDirectory& directory);
  bool check_block(SegmentReader& segment, uint32_t block);
  Result<> read_block(SegmentReader& segment, uint32_t block);
  Result<> check_zone(const BlockZone& zone, const BlockTimes& times);
  Result<> check_row(const StoredRow& row);
  Result<> check_filter(SegmentReader& segment, uint32_t block, const StoredRow& row);
  Result<> check_filter(SegmentReader& segment, uint32_t block, std::span<const AttributeView> attributes);
  void add_rows(const BlockTrace& trace, const BlockTimes& times, const BlockIds& ids, uint32_t block);
  void close_trace();
  void check_trace(const OpenTrace& trace);
  void expect_listed(const OpenTrace& trace);
  Result<> check_index(const OpenTrace& trace);
  Result<> check_part(const OpenTrace& trace, const TracePart& part);
  Result<> check_own_tally(const OpenTrace& trace, const PartTallies& tallies);
  Result<> check_tallies(const TraceId& id, const TracePart& newest);
  Result<> check_newest(const OpenTrace& trace);
  bool is_corrected(const TraceId& id) const;
  void check_grown();
  Result<> check_grown_list();
  void check_sums();
  void report(const std::string& part, const std::string& what, const Tally& tally, uint64_t of);
  std::string place() const;
  Affected whole() const;

  SealedReader& reader_;
  const Catalogue& catalogue_;
  Findings& findings_;

  const SegmentInfo* info_ = nullptr;
  IndexBuilder* index_ = nullptr;
  Sums sums_;
  std::optional<OpenTrace> open_;
  bool behind_damage_ = false;
  std::vector<TraceId> grown_;
  Tally trace_faults_;
  uint64_t unchecked_traces_ = 0;
  std::unordered_set<uint64_t> met_;  // hashes of the attributes that the block's filter was asked for
};

// Whether a stored summary is that of these rows, of all parts of a trace up to the one that stores it. `grown` is a
// statement about parts, not about rows, and is not compared.
bool summary_holds(const TraceSummary& stored, const std::vector<TraceRow>& rows);

}  // namespace fathom::store
