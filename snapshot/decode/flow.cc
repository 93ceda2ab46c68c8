#include "snapshot/decode/flow.h"

namespace fathom::snapshot {

std::string_view gap_reason_name(GapReason reason) {
  switch (reason) {
    case GapReason::kNone:
      return "none";
    case GapReason::kOverflow:
      return "overflow";
    case GapReason::kMissingImage:
      return "missing image";
    case GapReason::kDecodeError:
      return "decode error";
    case GapReason::kBadPacket:
      return "bad packet";
    case GapReason::kPacketsLost:
      return "packets lost";
    case GapReason::kSidebandLost:
      return "sideband lost";
    case GapReason::kUnrecorded:
      return "unrecorded";
    case GapReason::kBetweenWindows:
      return "between windows";
    case GapReason::kCount:
      break;
  }
  return "unknown";
}

}  // namespace fathom::snapshot
