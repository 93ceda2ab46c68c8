// A perf.data made by hand, record by record, in file or in pipe mode.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "snapshot/import/perf_layout.h"
#include "snapshot/import/perf_recording.h"

namespace fathom::snapshot::perf {

// One event kind for all records: TID, TIME, CPU and IDENTIFIER, as perf asks for beside Intel PT.
inline constexpr uint64_t kTestSampleType =
    PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;
inline constexpr uint64_t kTestEventId = 77;
inline constexpr uint32_t kTestPmu = 9;
inline constexpr uint64_t kTestZero = 1'000'000;

struct TestId {
  int32_t pid = 100;
  int32_t tid = 101;
  int32_t cpu = 2;
  uint64_t nano = 0;  // 0: made by perf, from the beginning
};

class PerfBuilder {
 public:
  explicit PerfBuilder(uint64_t sample_type = kTestSampleType) : sample_type_(sample_type) {}

  // The events' table or its record, and AUXTRACE_INFO, come first.
  PerfBuilder& info(bool ring_copies = false, bool with_clock = true);
  PerfBuilder& record(uint32_t type, uint16_t misc, const std::string& payload);
  // With the fields of a record of the kernel behind `payload`.
  PerfBuilder& kernel_record(uint32_t type, uint16_t misc, std::string payload, const TestId& id);
  PerfBuilder& map2(const TestId& id, uint64_t address, uint64_t length, uint64_t file_offset, const std::string& name,
                    const std::string& build_id = {}, uint16_t misc = PERF_RECORD_MISC_USER);
  PerfBuilder& packets(int32_t cpu, int32_t tid, uint64_t offset, const std::string& bytes);
  // A sample of kTestSampleType and PERF_SAMPLE_AUX.
  PerfBuilder& sample(const TestId& id, const std::string& packets);
  // The records from `begin` on as pieces of one zstd stream, each of so many of their bytes.
  PerfBuilder& compress(size_t begin, size_t piece_bytes, uint32_t type = kCompressed);
  PerfBuilder& raw(const std::string& records) {
    records_ += records;
    return *this;
  }
  PerfBuilder& feature(Feature feature, const std::string& content);

  const std::string& records() const { return records_; }
  std::string file() const;
  std::string pipe() const;

  static std::string header_string(const std::string& text);
  static std::string build_id_entry(const std::string& build_id, const std::string& name);

 private:
  uint64_t sample_type_;
  std::string records_;
  std::vector<std::pair<uint32_t, std::string>> features_;
};

// Packets: synchronisation points with a time each, and TNTs that differ.
std::string test_packets(uint64_t seed, size_t points);

std::string zstd_of(const std::string& plain);

// Files in memory: a perf.data with this content, and those of its threads.
PerfInput test_input(const std::string& data, const std::vector<std::string>& threads = {});

uint64_t loss_count(const Snapshot& snapshot, const std::string& name);  // 0: there is no such loss

}  // namespace fathom::snapshot::perf
