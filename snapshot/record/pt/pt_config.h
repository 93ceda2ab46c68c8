// From what is wanted to what the kernel is asked for: every setting is checked against what the processor offers.
//
// Thread safety: pure functions. Errors: kUnsupported for what this processor lacks and kInvalid for a value that it
// does not take; both name what it offers instead.
#pragma once

#include <linux/perf_event.h>

#include <string>

#include "base/result.h"
#include "snapshot/format/perf_records.h"
#include "snapshot/record/pt/pmu.h"
#include "snapshot/record/pt/pt_options.h"

namespace fathom::snapshot {

// The settings after the processor had its say.
struct PtConfig {
  PmuConfig bits;
  bool mtc = false;
  uint8_t mtc_period = 0;

  bool operator==(const PtConfig&) const = default;
};
Result<PtConfig> make_pt_config(const PtPmu& pmu, const PtOptions& options);

// "filter 0x1000/0x200@/usr/bin/shop,filter 0xffffffff81000000/0x40"; empty without filters.
Result<std::string> filter_text(const PtPmu& pmu, const PtOptions& options);

// Attributes of the three kinds of events. All are opened disabled, and keep perf's own clock: another one
// (use_clockid) would take the conversion from the time-stamp counter (time_zero) away.
perf_event_attr pt_attributes(const PtPmu& pmu, const PtConfig& config, const PtOptions& options);
perf_event_attr sideband_attributes(const PtOptions& options);
inline constexpr PerfLayout kRecordLayout{PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER,
                                          true};

}  // namespace fathom::snapshot
