// Stands in for snapshot/analyze/answer.cc until that is there.
#include "snapshot/analyze/question.h"

namespace fathom::snapshot {

Result<> answer(const SnapshotDirectory&, const Question&, const Output&) {
  return Error{ErrorCode::kUnsupported, "questions are not answered yet"};
}

}  // namespace fathom::snapshot
