#include "snapshot/analyze/delta_answer.h"
#include "snapshot/analyze/insns_answer.h"
#include "snapshot/analyze/question.h"
// #include "snapshot/analyze/stats_answer.h"
// #include "snapshot/analyze/syscalls_answer.h"

namespace fathom::snapshot {

Result<> answer(const SnapshotDirectory& directory, const Question& question, const Output& output) {
  switch (question.verb) {
    case Verb::kInsns:
      return answer_insns(directory, question, output);
    case Verb::kDelta:
      return answer_delta(directory, question, output);
      //    case Verb::kSyscalls: return answer_syscalls(directory, question, output);
      //    case Verb::kStats: return answer_stats(directory, question, output);
    case Verb::kSyscalls:
    case Verb::kStats:
    case Verb::kCalls:
    case Verb::kFunctions:
    case Verb::kSunburst:
    case Verb::kDiff:
    case Verb::kPerfetto:
    case Verb::kPprof:
      break;
  }
  return Error{ErrorCode::kUnsupported, "this is not answered yet"};
}

}  // namespace fathom::snapshot
