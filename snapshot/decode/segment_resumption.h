// SegmentResumption: what is left of a segment behind a fault.
//
// Purpose: a function whose code is missing, or a contradiction, must not cost everything up to the next PSB, which may
// be the rest of the recording. libipt begins only at a PSB, so one is written in front of the next place whose
// position is certain (resume_points.h), over packets that are done with. Thread safety: none. Errors: each fault is a
// gap of its own, unless nothing at all was decoded since the last one. Work: each packet is read a few times at most.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "snapshot/decode/resume_points.h"
#include "snapshot/decode/segment_decoder.h"

namespace fathom::snapshot {

class SegmentResumption {
 public:
  SegmentResumption(const pt_config& config, EndClasses& classes, Whereabouts& where, FlowWriter& out)
      : config_(config), classes_(classes), where_(where), out_(out) {}

  // As SegmentDecoder::decode(), behind its fault. There are ResumePoints::kMostHeaderBytes before the segment, which
  // may be written to like the segment itself.
  void go_on(SegmentFault fault, std::span<uint8_t> segment, std::optional<uint64_t> stop, bool last);

 private:
  std::optional<ResumePoint> next(ResumePoints& points, const SegmentFault& fault);
  bool usable(const ResumePoint& point, const SegmentFault& fault);

  const pt_config& config_;
  EndClasses& classes_;
  Whereabouts& where_;
  FlowWriter& out_;
};

}  // namespace fathom::snapshot
