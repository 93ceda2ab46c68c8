#include "snapshot/analyze/calls_answer.h"
#include "snapshot/analyze/delta_answer.h"
#include "snapshot/analyze/diff_answer.h"
#include "snapshot/analyze/functions_answer.h"
#include "snapshot/analyze/insns_answer.h"
#include "snapshot/analyze/perfetto_answer.h"
#include "snapshot/analyze/pprof_answer.h"
#include "snapshot/analyze/question.h"
#include "snapshot/analyze/stats_answer.h"
#include "snapshot/analyze/sunburst_answer.h"
#include "snapshot/analyze/syscalls_answer.h"

namespace fathom::snapshot {

Result<> answer(const SnapshotDirectory& directory, const Question& question, const Output& output) {
  switch (question.verb) {
    case Verb::kInsns:
      return answer_insns(directory, question, output);
    case Verb::kCalls:
      return answer_calls(directory, question, output);
    case Verb::kFunctions:
      return answer_functions(directory, question, output);
    case Verb::kSunburst:
      return answer_sunburst(directory, question, output);
    case Verb::kDiff:
      return answer_diff(directory, question, output);
    case Verb::kPerfetto:
      return answer_perfetto(directory, question, output);
    case Verb::kPprof:
      return answer_pprof(directory, question, output);
    case Verb::kDelta:
      return answer_delta(directory, question, output);
    case Verb::kSyscalls:
      return answer_syscalls(directory, question, output);
    case Verb::kStats:
      return answer_stats(directory, question, output);
  }
  return Error{ErrorCode::kUnsupported, "nobody knows this question"};
}

}  // namespace fathom::snapshot
