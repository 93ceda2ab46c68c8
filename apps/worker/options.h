// WorkerOptions: the command line of fathom-worker as what it is to do.
//
// Thread safety: plain values. Errors: kInvalid, naming the flag and the cure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "cli/args.h"
#include "snapshot/analyze/question.h"
#include "snapshot/import/import.h"

namespace fathom {

enum class WorkerTask : uint8_t { kAsk, kImport, kList, kRemove, kView };

struct WorkerOptions {
  WorkerTask task = WorkerTask::kAsk;
  std::string directory;
  uint64_t memory_bytes = 0;
  size_t columns = 0;  // of the terminal that a table is for; 0: lines of any length
  bool cache = true;
  bool is_unsafe = false;           // decodes also where it cannot be confined
  bool opens_host_sources = false;  // source text is read wherever it lies on this host
  bool opens_host_code = false;     // code and debug files are read wherever they lie on this host
  snapshot::Question question;      // its ids are filled in when the directory is open
  std::string id;
  std::string other;
  std::optional<snapshot::PerfImport> perf;
  std::optional<snapshot::RawImport> raw;
  bool mtc_freq_given = false;  // to `raw`
};

// What the defaults depend on.
struct WorkerEnvironment {
  std::string home;  // $HOME
};

const cli::CommandLine& worker_command_line();
Result<WorkerOptions> worker_options(const cli::Args& args, const WorkerEnvironment& environment);

}  // namespace fathom
