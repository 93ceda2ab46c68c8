// work(): what a worker was started for: a question, an import, the list of snapshots, the end of one, or a
// view, which is asked more than once.
//
// Thread safety: one call per process. Errors: kNotFound (no such snapshot), kInvalid, and those of whom it asks;
// messages name the cure. Answers go out piece by piece; those of up to kMostKeptBytes are kept under their content's
// key, and come from there the next time.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/worker/options.h"
#include "apps/worker/sandbox/landlock.h"
#include "base/result.h"

namespace fathom {

inline constexpr size_t kMostKeptBytes = 16 << 20;
// Counts up when an answer to the same question comes out otherwise; kept ones of before are not asked for any more.
inline constexpr int kAnswersVersion = 10;

struct WorkerStreams {
  snapshot::Output out;                          // the answer; false: its reader is gone
  std::function<void(std::string_view)> remark;  // a line for the person
  // How far it has come, in bytes of packets: "decoded", "copied"; empty: nobody waits.
  std::function<void(std::string_view what, uint64_t done_bytes, uint64_t all_bytes)> progress = {};
  // Called once, when it is known which snapshots the task is about, and before anything hostile is read; an error ends
  // the task. `paths`: what the task needs from then on. Empty: nothing is done (tests).
  std::function<Result<>(const std::vector<AllowedPath>& paths)> confine = {};
  // Of a view: the next ask; nothing: there are no more. What `out` was given then goes out.
  std::function<std::optional<std::string>()> ask = {};
};

Result<> work(const WorkerOptions& options, const WorkerStreams& streams);

// Under what an answer is kept: the ids, and a hash of all that it depends on.
std::string answer_key(const snapshot::Question& question);

}  // namespace fathom
