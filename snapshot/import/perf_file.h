// PerfFile: a perf.data as a sequence of records, with what its header says beside them.
//
// Purpose: the one place that knows where in a perf.data its records lie, in file and in pipe mode. Thread safety:
// none. Ownership: refers to the descriptor of the caller. Errors: kInvalid (no perf.data; a directory of one),
// kUnsupported (another byte order, an older format), kCorrupt (the header).
// Source: perf.data-file-format.txt of the kernel.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "snapshot/import/perf_layout.h"
#include "snapshot/import/perf_record_reader.h"

namespace fathom::snapshot::perf {

inline constexpr size_t kMostEvents = 4096;
inline constexpr size_t kMostIds = 1 << 20;  // of all events: one per event and processor

struct EventKind {
  uint32_t type = 0;
  uint64_t config = 0;
  uint64_t sample_type = 0;
  uint64_t read_format = 0;
  uint64_t branch_sample_type = 0;
  uint64_t sample_regs_user = 0;
  uint64_t sample_regs_intr = 0;
  bool sample_id_all = false;
  std::vector<uint64_t> ids;
};

class PerfFile {
 public:
  static Result<PerfFile> open(const Fd& file, const std::string& name);

  // In file mode the kinds of events stand in the header; in pipe mode they come as records.
  const std::vector<EventKind>& events() const { return events_; }
  bool pipe() const { return pipe_; }
  // The content of a part of the header; empty when it is not there. In pipe mode these come as records, too.
  std::string feature(Feature feature) const;

  // As many of them as are there.
  Section records() const { return records_; }
  // Of the records, bytes that the header speaks of and that are not there: the file was cut short.
  uint64_t bytes_missing() const { return bytes_missing_; }
  // Parts of the header, which stand behind the records, that are not there, or not all.
  uint64_t features_missing() const { return features_missing_; }
  // Whether the header says where the records end, and the file goes on until there.
  bool records_are_whole() const { return !pipe_ && ended_properly_ && bytes_missing_ == 0; }
  // Whether perf came to write the header's parts: it did not when it was killed.
  bool ended_properly() const { return ended_properly_; }

 private:
  PerfFile(const Fd& file, const std::string& name, uint64_t size) : file_(file), name_(name), size_(size) {}
  Result<> read_header();
  Result<> read_file_header();
  Result<> read_events(Section section, uint64_t entry_bytes);
  void read_features(std::string_view bits);
  void read_feature_place(uint32_t feature, uint64_t at);
  Result<std::string> bytes(uint64_t at, uint64_t count) const;

  const Fd& file_;
  std::string name_;
  uint64_t size_;
  bool pipe_ = false;
  bool ended_properly_ = true;
  Section records_;
  std::vector<EventKind> events_;
  std::vector<std::pair<uint32_t, Section>> features_;
  uint64_t bytes_missing_ = 0;
  uint64_t features_missing_ = 0;
};

// An event's description as a pipe's record has it: the attributes, then its ids.
bool parse_event(std::string_view bytes, EventKind& event);

}  // namespace fathom::snapshot::perf
