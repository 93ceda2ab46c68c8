// PtPmu: what the kernel says that this processor's Intel PT offers.
//
// Purpose: the one reader of /sys/bus/event_source/devices/intel_pt. Its files say which bits of an event's `config`
// mean what, and which values the hardware takes. Thread safety: plain values. Errors: kUnsupported when there is no
// such device, kCorrupt for files that are not what they should be. Content is treated as hostile. Source of the idea:
// Documentation/ABI/testing/sysfs-bus-event_source-devices-format.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "snapshot/format/snapshot.h"
#include "snapshot/record/pt/perf_system.h"

namespace fathom::snapshot {

inline constexpr std::string_view kPtDevice = "/sys/bus/event_source/devices/intel_pt";

// A field of an event's configuration: "config:14-17", "config1:0-7,32".
struct PmuField {
  uint8_t word = 0;           // of config, config1, config2
  std::vector<uint8_t> bits;  // lowest first

  bool operator==(const PmuField&) const = default;
};
Result<PmuField> parse_pmu_field(std::string_view text);

// The three words that fields are written to.
struct PmuConfig {
  uint64_t words[3] = {};

  bool operator==(const PmuConfig&) const = default;
};
// kInvalid when the value has more bits than the field.
Result<> put_field(PmuConfig& config, const PmuField& field, uint64_t value);

struct PtPmu {
  uint32_t type = 0;
  std::map<std::string, PmuField, std::less<>> fields;
  std::map<std::string, uint64_t, std::less<>> caps;
  uint32_t address_filters = 0;
  uint8_t max_nonturbo_ratio = 0;  // 0: not said
  uint32_t cpuid_0x15_eax = 0;
  uint32_t cpuid_0x15_ebx = 0;

  bool offers(std::string_view cap) const { return cap_value(cap) != 0; }
  uint64_t cap_value(std::string_view cap) const;
};

Result<PtPmu> read_pt_pmu(const PerfSystem& system);
// Whether programs can write to the packets (PTWRITE), and perf can ask for it.
bool has_ptwrite(const PerfSystem& system);
// Family, model and stepping, from /proc/cpuinfo.
Cpu read_cpu(const PerfSystem& system);

}  // namespace fathom::snapshot
