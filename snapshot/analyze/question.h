// Question: what a person wants to know of a snapshot; and answer(), which works it out and writes it down.
//
// Purpose: the one door of this folder: fathom-worker turns its arguments into a Question. Thread safety: answer() may
// run beside others of the same directory. Errors: kNotFound, kInvalid (a pattern, a combination; names the cure),
// kCorrupt. Answers are written piece by piece, because a list of instructions can be longer than memory.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "snapshot/format/byte_progress.h"
#include "snapshot/format/directory.h"
#include "snapshot/source/source_files.h"

namespace fathom::snapshot {

enum class Verb : uint8_t {
  kInsns,
  kCalls,
  kFunctions,
  kDelta,
  kSyscalls,
  kSunburst,
  kDiff,
  kStats,
  kPerfetto,
  kPprof
};
enum class Format : uint8_t { kTable, kJson, kSvg };

struct Question {
  Verb verb = Verb::kCalls;
  SnapshotId id;
  SnapshotId other;  // kDiff: the second execution
  Format format = Format::kTable;
  bool count_only = false;       // kInsns: only the numbers of instructions and gaps
  uint64_t limit = 0;            // rows of a table; 0: no limit
  int32_t tid = -1;              // only this thread
  bool by_instructions = false;  // kCalls: rank by instructions; else by time, if the snapshot has times
  std::string from;              // kDelta: patterns
  std::string to;
  bool inlines = false;                             // kInsns: the functions that an instruction was inlined through
  std::vector<SourceDirectory> source_directories;  // kInsns, kCalls: show text of files here; empty: of none
  unsigned threads = 0;                             // to decode with; 0: one per processor
  ByteProgress progress;                            // of decoding
};

// False: the reader is gone, stop.
using Output = std::function<bool(std::string_view)>;

Result<> answer(const SnapshotDirectory& directory, const Question& question, const Output& output);

}  // namespace fathom::snapshot
