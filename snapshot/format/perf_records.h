// The records of perf_event_open: one record of a ring, or of a perf.data, and what it says of the history of
// processes.
//
// Purpose: the one parser for the recorder (rings of the kernel) and for the importer (files): both hold the same
// records. A record is cut by split_perf_record(), given its parts by parse_perf_record(), and made a row of the
// snapshot's history by to_sideband(). Thread safety: pure functions, plain values that point into the caller's bytes.
// Units: time is of perf's own clock, in nanoseconds; rows have the time-stamp counter. Errors: kCorrupt, naming the
// record; every byte is treated as hostile. Source of the idea: linux/perf_event.h, which has the layout of each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "snapshot/format/snapshot.h"

namespace fathom::snapshot {

// Of the event's attributes, what decides the layout of its records.
struct PerfLayout {
  uint64_t sample_type = 0;
  bool sample_id_all = false;

  bool operator==(const PerfLayout&) const = default;
};

// Who, when and where, as far as the layout has it.
struct PerfSampleId {
  std::optional<uint64_t> time_nano;
  std::optional<uint64_t> id;  // of the event
  int32_t pid = -1;
  int32_t tid = -1;
  int32_t cpu = -1;
  uint64_t instruction = 0;  // samples only, with PERF_SAMPLE_IP
};

struct PerfRecord {
  uint32_t type = 0;
  uint16_t misc = 0;
  std::string_view payload;  // behind the header, before the sample's id; of a sample, everything
  PerfSampleId id;
};

// Whose bytes a mapping shows. `file` is as the kernel writes it: a path, "//anon", "[vdso]", "[kernel.kallsyms]_text".
struct PerfMapping {
  std::string file;
  std::string build_id;  // raw; empty when the record has none
  uint32_t device_major = 0;
  uint32_t device_minor = 0;
  uint64_t inode = 0;
};

struct PerfSideband {
  Sideband row;                        // `image` is the caller's to set
  std::optional<PerfMapping> mapping;  // of a kMap
};

// The bytes of the first record in `bytes`, with its header. Nothing when they hold only its beginning.
Result<std::optional<std::string_view>> split_perf_record(std::string_view bytes);

// `bytes` is one whole record. Records that perf itself adds to its files (type 64 and more) have no id.
Result<PerfRecord> parse_perf_record(std::string_view bytes, const PerfLayout& layout);

// Nothing for records that tell nothing of the history: throttling, namespaces, cgroups, samples, data that is not
// executable, and AUX records that speak of no loss. With `timing` whose conversion is unknown, rows have tsc 0.
Result<std::optional<PerfSideband>> to_sideband(const PerfRecord& record, const Timing& timing);

// Between perf's clock and the time-stamp counter, by the conversion of `timing`; 0 when it has none.
uint64_t tsc_of_time(const Timing& timing, uint64_t time_nano);
uint64_t time_of_tsc(const Timing& timing, uint64_t tsc);

// PERF_RECORD_AUX: packets were written to the AUX area of the event.
struct PerfAux {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  uint32_t flags = 0;  // SidebandFlags
};
Result<PerfAux> parse_perf_aux(const PerfRecord& record);

}  // namespace fathom::snapshot
