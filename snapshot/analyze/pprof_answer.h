// The call tree for pprof: a gzipped profile.proto (docs/formats/pprof.md).
//
// Thread safety: any. Errors: those of the snapshot. The format of the question is of no interest.
#pragma once

#include <functional>
#include <string>

#include "snapshot/analyze/call_answer.h"

namespace fathom::snapshot {

Result<> answer_pprof(const SnapshotDirectory& directory, const Question& question, const Output& output);

using FunctionLines = std::function<SourceLine(const CallFunction&)>;  // line 0: not known
struct PprofHead {
  std::vector<std::string> comments;
  int64_t taken_unix_nano = 0;
};
// Not yet gzipped.
std::string pprof_profile(const NamedCalls& calls, const TraceTime& time, const FunctionLines& lines,
                          const PprofHead& head);

}  // namespace fathom::snapshot
