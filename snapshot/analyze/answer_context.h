// AnswerContext: a snapshot that was opened to be asked, with its map of memory, its names and its clock.
//
// Purpose: what every answer begins with. Thread safety: const functions from any thread. Ownership: keeps a reference
// to the directory, which outlives it; what answers hand out of it lives as long as this. Errors: those of opening a
// snapshot; analyses that were stopped on purpose are no error (decode()). kInvalid for a thread that the snapshot does
// not know.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "snapshot/analyze/code_images.h"
#include "snapshot/analyze/question.h"
#include "snapshot/analyze/trace_time.h"
#include "snapshot/decode/analysis.h"
#include "snapshot/decode/code_names.h"
#include "snapshot/decode/memory_map.h"

namespace fathom::snapshot {

class AnswerContext {
 public:
  static Result<std::unique_ptr<AnswerContext>> open(const SnapshotDirectory& directory, const SnapshotId& id);
  AnswerContext(const SnapshotDirectory& directory, SnapshotFile file);

  const SnapshotFile& file() const { return file_; }
  const Snapshot& snapshot() const { return file_.snapshot(); }
  const SnapshotDirectory& directory() const { return directory_; }
  const MemoryMap& map() const { return map_; }
  const CodeImages& images() const { return images_; }
  const CodeNames& names() const { return names_; }
  const TraceTime& time() const { return time_; }
  // The least time in packets; 0 where there is none. Reads the beginnings of streams when first asked (not from
  // several threads).
  uint64_t begin_tsc() const;
  // In the units of time(), since begin_tsc(); nothing where `tsc` is not known.
  std::optional<int64_t> since_begin(uint64_t tsc) const;
  // The same as people read it: "1,234,567", "-3"; empty where it is not known.
  std::string since_begin_text(uint64_t tsc) const;
  // "worker" of thread 43; empty where nobody says.
  std::string thread_name(int32_t tid) const;

  // kInvalid, and which ones there are, for a thread that nothing tells of; -1 is all of them.
  Result<> check_thread(int32_t tid) const;
  // Decodes all streams, by as many threads as `question` says. Nothing when the analysis said that it has seen enough.
  Result<std::optional<DecodeSummary>> decode(const Question& question, Analysis& analysis,
                                              DecodeOptions options = {}) const;

 private:
  const SnapshotDirectory& directory_;
  SnapshotFile file_;
  MemoryMap map_;
  CodeImages images_;
  CodeNames names_;
  TraceTime time_;
  mutable std::optional<uint64_t> begin_tsc_;
  std::map<int32_t, std::string> thread_names_;
};

// Pieces of an answer, gathered into larger ones. Once the reader is gone, nothing is written any more.
class AnswerWriter {
 public:
  explicit AnswerWriter(const Output& output) : output_(output) {}
  // False: the reader is gone.
  bool write(std::string_view text);
  std::string& buffer() { return buffer_; }  // to append to; then written()
  bool written();
  bool flush();

 private:
  const Output& output_;
  std::string buffer_;
  bool gone_ = false;
};

}  // namespace fathom::snapshot
