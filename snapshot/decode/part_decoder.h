// PartDecoder: one part of a stream, from its packets to an analysis; and what all parts share.
//
// Segments end in front of a PSB+ that says where the code stands, or was written while recording was off. Others do
// not say what the code before them did: libipt goes through them. Thread safety: DecodeContext any (its caches lock),
// PartDecoder none, one per thread. Memory: one part's packets, in a buffer that is used again; parts that are large,
// because there is no PSB for long, are decoded one at a time. Errors: packets that cannot be read; everything else is
// a gap.
#pragma once

#include <intel-pt.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include "base/result.h"
#include "snapshot/decode/address_filters.h"
#include "snapshot/decode/analysis.h"
#include "snapshot/decode/packet_stream.h"
#include "snapshot/decode/psb.h"
#include "snapshot/decode/resume_points.h"
#include "snapshot/decode/segment_decoder.h"
#include "snapshot/decode/thread_history.h"

namespace fathom::snapshot {

struct DecodeContext {
  DecodeContext(const SnapshotFile& file, const SnapshotDirectory& directory, bool estimate_times);

  std::vector<PacketStream> packets;  // one for each stream
  std::vector<ThreadHistory> histories;
  MemoryMap map;
  std::unique_ptr<SectionCache> sections;
  pt_config config;  // without address filters, which are an address space's
  AddressFilters filters;
  bool estimate_times;
  bool guests_apart;              // images are the host's: of a raw stream they are whatever ran
  mutable std::mutex large_part;  // held while one is in memory
};

class PartDecoder {
 public:
  explicit PartDecoder(const DecodeContext& context)
      : context_(context), spaces_(*context.sections), classes_(*context.sections) {}

  Result<DecodeSummary> decode(const StreamPart& part, FlowPart& flow);

 private:
  static constexpr size_t kRoom = std::max(SegmentDecoder::kRoom, ResumePoints::kMostHeaderBytes);
  Result<DecodeSummary> decode_one(const StreamPart& part, FlowPart& flow);
  Result<> read(const StreamPart& part);
  std::span<uint8_t> packets() { return std::span(bytes_).subspan(kRoom, bytes_.size() - 2 * kRoom); }
  pt_config config_of_segment(const Whereabouts& where) const;
  struct SegmentEnd {
    size_t at = 0;
    PsbHeader behind;
  };
  static SegmentEnd segment_end(std::span<const uint8_t> bytes, size_t begin, size_t size);
  void decode_segments(const StreamPart& part, Whereabouts& where, FlowWriter& out);

  const DecodeContext& context_;
  AddressSpaces spaces_;
  EndClasses classes_;
  std::vector<uint8_t> bytes_;  // kRoom before and behind the packets
};

}  // namespace fathom::snapshot
