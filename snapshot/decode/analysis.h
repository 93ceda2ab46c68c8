// Analysis: who wants to know something of decoded flow; and decode_flow(), which drives one.
//
// Purpose: decoding is independent between synchronisation points, so it runs in parallel, and so must what looks at
// its output. A stream is cut into parts; each part is decoded and looked at by one thread, from nothing; the parts are
// then merged one at a time, in the order of streams and of execution. An analysis that needs what came before (call
// stacks) keeps in its part what it could not know, and settles that when it merges. Thread safety: part() and merge()
// are called by one thread at a time; a FlowPart is used by one thread at a time, parts run beside each other. Memory:
// at most a few parts per thread exist at once, whatever the stream's length. Errors: faults of the input are gaps in
// the flow, never errors; kCancelled when merge() says so; kCorrupt when nothing of the snapshot could be read. Source
// of the idea: map and reduce.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "snapshot/decode/flow.h"
#include "snapshot/format/byte_progress.h"
#include "snapshot/format/directory.h"
#include "snapshot/format/snapshot.h"

namespace fathom::snapshot {

class FlowPart {
 public:
  virtual ~FlowPart() = default;
  // Some hundred items at a time, in order. The first item of a part is a kThread.
  virtual void take(std::span<const FlowItem> items) = 0;
};

class Analysis {
 public:
  virtual ~Analysis() = default;
  // A new part of stream `stream` (index into Snapshot::streams).
  virtual std::unique_ptr<FlowPart> part(size_t stream) = 0;
  // In order: all parts of the first stream first. False: enough has been seen, decoding may stop.
  virtual bool merge(std::unique_ptr<FlowPart> part) = 0;
};

struct GapCount {
  uint64_t count = 0;
  uint64_t first_ip = 0;    // of the first one
  std::string first_cause;  // in the decoder's words, with the file where an image is to blame
};

struct DecodeSummary {
  uint64_t instructions = 0;
  uint64_t blocks = 0;
  uint64_t packet_bytes = 0;
  uint64_t parts = 0;
  uint64_t skipped_bytes = 0;  // before the first synchronisation point: a ring's oldest packets
  uint64_t gap_total = 0;
  std::map<GapReason, GapCount> gaps;
  uint64_t first_tsc = 0;
  uint64_t last_tsc = 0;
};

struct DecodeOptions {
  unsigned threads = 0;  // 0: as many as there are processors
  // Bytes of packets per part, rounded up to the next PSB. Small enough for even shares, large enough to be worth it.
  uint64_t part_bytes = 64 << 10;
  ByteProgress progress;  // empty: nobody asks
  // Items between two times that packets tell get times between them; else they keep the one before.
  bool estimate_times = true;
  // Threads whose own streams are merged before the others, in this order.
  std::vector<int32_t> foremost;
};

// Decodes all streams of `file`; images come from `directory`.
Result<DecodeSummary> decode_flow(const SnapshotFile& file, const SnapshotDirectory& directory,
                                  const DecodeOptions& options, Analysis& analysis);

}  // namespace fathom::snapshot
