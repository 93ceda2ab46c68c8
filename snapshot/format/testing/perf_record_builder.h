// Records of perf as the kernel writes them, for tests: fields one behind the other, then the id of the layout.
#pragma once

#include <linux/perf_event.h>

#include <string>
#include <string_view>

#include "base/bytes.h"
#include "snapshot/format/perf_records.h"

namespace fathom::snapshot {

inline constexpr PerfLayout kTestLayout{PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER,
                                        true};

class PerfRecordBuilder {
 public:
  explicit PerfRecordBuilder(uint32_t type, uint16_t misc = 0) : type_(type), misc_(misc) {}

  PerfRecordBuilder& u16(uint16_t value) { return raw({reinterpret_cast<const char*>(&value), sizeof value}); }
  PerfRecordBuilder& u32(uint32_t value) { return raw({reinterpret_cast<const char*>(&value), sizeof value}); }
  PerfRecordBuilder& u64(uint64_t value) { return raw({reinterpret_cast<const char*>(&value), sizeof value}); }
  PerfRecordBuilder& raw(std::string_view bytes) {
    payload_.append(bytes);
    return *this;
  }
  // Ended by a zero, and filled up to eight bytes.
  PerfRecordBuilder& text(std::string_view value) {
    payload_.append(value);
    payload_.append(8 - payload_.size() % 8, '\0');
    return *this;
  }
  // The id of kTestLayout.
  std::string with_id(int32_t pid, int32_t tid, uint64_t time_nano, uint32_t cpu) {
    u32(static_cast<uint32_t>(pid)).u32(static_cast<uint32_t>(tid)).u64(time_nano).u32(cpu).u32(0).u64(7);
    return bare();
  }
  std::string bare() const {
    std::string bytes;
    ByteWriter writer(bytes);
    writer.u32(type_);
    const auto size = static_cast<uint16_t>(payload_.size() + sizeof(perf_event_header));
    writer.raw({reinterpret_cast<const char*>(&misc_), sizeof misc_});
    writer.raw({reinterpret_cast<const char*>(&size), sizeof size});
    writer.raw(payload_);
    return bytes;
  }

 private:
  uint32_t type_;
  uint16_t misc_;
  std::string payload_;
};

}  // namespace fathom::snapshot
