#include "snapshot/decode/segment_resumption.h"

namespace fathom::snapshot {

void SegmentResumption::go_on(SegmentFault fault, std::span<uint8_t> segment, std::optional<uint64_t> stop, bool last) {
  ResumePoints points(config_, segment);
  const uint64_t most = out_.summary.instructions + SegmentDecoder::most_instructions(segment.size());
  uint8_t* const end = segment.data() + segment.size();
  while (out_.summary.instructions < most) {
    if (fault.final && !points.skip_to_psb(fault.offset)) return;
    const auto point = next(points, fault);
    if (!point) return;
    uint8_t* const begin = write_resume_header(*point, segment.data() + point->offset);
    SegmentDecoder decoder(config_, classes_, where_, out_, fault.reason);
    const auto again = decoder.decode({begin, end}, stop, last);
    if (!again) return;
    fault = *again;
    // Of the segment: the header may begin before it.
    fault.offset += static_cast<uint64_t>(begin - segment.data());
  }
}

std::optional<ResumePoint> SegmentResumption::next(ResumePoints& points, const SegmentFault& fault) {
  auto point = points.next(fault.offset);
  while (point && !usable(*point, fault)) point = points.next(fault.offset);
  return point;
}

// Where packets and code contradict each other packets may be damaged, and what leans on the ones before is, too.
bool SegmentResumption::usable(const ResumePoint& point, const SegmentFault& fault) {
  if (point.guest && where_.guests_apart()) return false;  // the header that is written could not say so
  where_.guest(false);
  if (point.kind == ResumeKind::kOverflow) return true;
  if (fault.reason != GapReason::kMissingImage && !point.absolute) return false;
  where_.advance(point.clock.tsc());
  return where_.has_code(point.ip);
}

}  // namespace fathom::snapshot
