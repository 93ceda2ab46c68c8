// PerfSideband: the kernel's records about processes as rows of a snapshot's history.
//
// Purpose: one row for each record that says something of code, threads or losses; the rest is counted by its name.
// Times are turned into the time-stamp counter by finish(), when the clocks' relation is known. Thread safety: none.
// Errors: kExhausted when there are more rows than a snapshot can keep. Hostile input: short records are counted as
// damaged, names are cut, the number of rows and their text is bounded.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "snapshot/format/snapshot.h"
#include "snapshot/import/perf_file.h"
#include "snapshot/import/perf_sample_id.h"

namespace fathom::snapshot::perf {

// What is recorded of the kernel's place, to place a vmlinux by.
struct KernelPlace {
  uint64_t text_address =
      0;  // of its symbol _text (or of _stext, rounded down to where a kernel may begin); 0: unknown
};

class PerfSideband {
 public:
  // A record with a number below kUserRecords; `sample_ids` knows the events so far.
  Result<> take(const Record& record, SampleIds& sample_ids);

  void count(const std::string& name, uint64_t number = 1) {
    if (number != 0) losses_[name] += number;
  }
  // A build-id from the header's table, or from a record of it.
  void add_build_id(std::string_view name, std::string_view build_id);

  const KernelPlace& kernel() const { return kernel_; }

  // Gives rows, images (without content; each `missing` is empty) and losses to `snapshot`, whose timing is known.
  void finish(Snapshot& snapshot);

 private:
  struct ImageKey {
    std::string name;
    std::string build_id;
    auto operator<=>(const ImageKey&) const = default;
  };
  Sideband row(SidebandKind kind, const SampleId& id) const;
  Result<> keep(Sideband row);
  Result<> take_map(const Record& record, ByteReader in, bool second, const SampleId& id);
  Result<> keep_map(const Record& record, Sideband map, std::string_view name, std::string_view build_id);
  Result<> take_name(const Record& record, ByteReader in, const SampleId& id);
  Result<> take_task(const Record& record, ByteReader in, const SampleId& id);
  Result<> take_switch(const Record& record, ByteReader in, const SampleId& id);
  Result<> take_trace_start(ByteReader in, const SampleId& id);
  Result<> take_aux(ByteReader in, const SampleId& id);
  Result<> take_lost(ByteReader in, const SampleId& id);
  Result<> take_kernel_symbol(ByteReader in, const SampleId& id);
  Result<> take_text_poke(ByteReader in, const SampleId& id);
  Result<> damaged(const char* what);
  uint32_t image(std::string_view name, std::string_view build_id);
  bool to_tsc(const Timing& timing);

  std::vector<Sideband> rows_;
  uint64_t text_bytes_ = 0;
  std::vector<Image> images_;
  std::map<ImageKey, uint32_t> image_numbers_;
  std::unordered_map<std::string, std::string> build_ids_;
  KernelPlace kernel_;
  std::map<std::string, uint64_t> losses_;
};

// perf's clock to the time-stamp counter; the inverse of the conversion in `timing`, whose mult is not 0.
uint64_t tsc_of(uint64_t nano, const Timing& timing);

inline constexpr std::string_view kKernelImage = "[kernel.kallsyms]";

}  // namespace fathom::snapshot::perf
