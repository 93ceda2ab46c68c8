#include "snapshot/record/pt/pt_config.h"

#include <bit>
#include <cstdio>

namespace fathom::snapshot {
namespace {

constexpr uint8_t kWantedMtcPeriod = 3;
constexpr uint8_t kFinestPsbPeriod = 0;  // 2 KiB: of one user, packets remain or go from one PSB to the next
constexpr uint8_t kWantedPsbPeriod = 2;  // 8 KiB: parts small enough to decode side by side, under 1 % of the bytes

Error lacks(const std::string& what) {
  return {ErrorCode::kUnsupported, "this processor's Intel PT has no " + what};
}

std::string offered_values(uint64_t values) {
  std::string text;
  for (int value = 0; value < 64; ++value) {
    if (values >> value & 1) text += (text.empty() ? "" : ", ") + std::to_string(value);
  }
  return text.empty() ? "none" : text;
}

// The offered value that is nearest to what we would like, the smaller one of two.
uint8_t nearest(uint64_t values, uint8_t liked) {
  for (int distance = 0; distance < 64; ++distance) {
    if (liked >= distance && (values >> (liked - distance) & 1)) return static_cast<uint8_t>(liked - distance);
    if (liked + distance < 64 && (values >> (liked + distance) & 1)) return static_cast<uint8_t>(liked + distance);
  }
  return 0;
}

Result<> check_value(const std::string& name, uint8_t value, uint64_t offered) {
  if (value < 64 && (offered >> value & 1)) return {};
  return invalid(name + " " + std::to_string(value) + " is not offered by this processor; it takes " +
                 offered_values(offered));
}

// Fills in one field after another, and remembers the first fault.
class ConfigBuilder {
 public:
  explicit ConfigBuilder(const PtPmu& pmu) : pmu_(pmu) {}

  void set(const std::string& name, uint64_t value = 1) {
    if (!fault_.ok()) return;
    const auto field = pmu_.fields.find(name);
    fault_ = field == pmu_.fields.end() ? Result<>(lacks("'" + name + "' in its format"))
                                        : put_field(config_.bits, field->second, value);
  }
  void need_cap(const std::string& cap, const std::string& what) {
    if (fault_.ok() && !pmu_.offers(cap)) fault_ = lacks(what + " (caps/" + cap + " is 0)");
  }
  void check(const std::string& name, uint8_t value, const std::string& cap) {
    if (fault_.ok()) fault_ = check_value(name, value, pmu_.cap_value(cap));
  }
  Result<PtConfig> done() const {
    if (!fault_.ok()) return fault_.error();
    return config_;
  }
  PtConfig& config() { return config_; }

 private:
  const PtPmu& pmu_;
  PtConfig config_;
  Result<> fault_;
};

void put_mtc(ConfigBuilder& builder, const PtPmu& pmu, const PtOptions& options) {
  const bool asked = options.mtc.value_or(options.mtc_period.has_value());
  if (!asked && (options.mtc.has_value() || !pmu.offers("mtc") || !options.tsc)) return;
  builder.need_cap("mtc", "MTC packets");
  const uint8_t period = options.mtc_period.value_or(nearest(pmu.cap_value("mtc_periods"), kWantedMtcPeriod));
  builder.check("mtc_period", period, "mtc_periods");
  builder.set("mtc");
  builder.set("mtc_period", period);
  builder.config().mtc = true;
  builder.config().mtc_period = period;
}

void put_cyc(ConfigBuilder& builder, const PtOptions& options) {
  if (!options.cyc && !options.cyc_thresh) return;
  builder.need_cap("psb_cyc", "CYC packets");
  builder.set("cyc");
  if (!options.cyc_thresh) return;
  builder.check("cyc_thresh", *options.cyc_thresh, "cycle_thresholds");
  builder.set("cyc_thresh", *options.cyc_thresh);
}

void put_psb(ConfigBuilder& builder, const PtPmu& pmu, const PtOptions& options) {
  if (!options.psb_period && !pmu.offers("psb_cyc")) return;
  builder.need_cap("psb_cyc", "choice of the PSB period");
  const uint8_t wanted = options.one_user ? kFinestPsbPeriod : kWantedPsbPeriod;
  const uint8_t period = options.psb_period.value_or(nearest(pmu.cap_value("psb_periods"), wanted));
  builder.check("psb_period", period, "psb_periods");
  builder.set("psb_period", period);
}

// Without its bit `pt`, the kernel records branches by itself, and `branch` is no choice.
void put_branch(ConfigBuilder& builder, const PtPmu& pmu, const PtOptions& options) {
  const bool can_choose = pmu.fields.contains("pt") && pmu.fields.contains("branch");
  if (options.branch && !can_choose) return;
  builder.set("pt");
  if (options.branch) builder.set("branch");
}

void put_ptwrite(ConfigBuilder& builder, const PtOptions& options) {
  if (!options.ptwrite) return;
  builder.need_cap("ptwrite", "PTWRITE");
  builder.set("ptw");
  builder.set("fup_on_ptw");
}

void put_power(ConfigBuilder& builder, const PtOptions& options) {
  if (!options.power_events) return;
  builder.need_cap("power_event_trace", "power events");
  builder.set("pwr_evt");
}

std::string one_filter(const AddressFilter& filter) {
  char range[64];
  std::snprintf(range, sizeof range, "filter 0x%llx/0x%llx", static_cast<unsigned long long>(filter.offset),
                static_cast<unsigned long long>(filter.bytes));
  return filter.file.empty() ? range : range + ("@" + filter.file);
}

Result<> check_filter(const AddressFilter& filter) {
  if (filter.bytes == 0 || filter.bytes > UINT64_MAX - filter.offset)
    return invalid("an address filter's range is empty or wraps");
  // The kernel's own words for filters are separated by these.
  if (filter.file.find_first_of(" ,\n\t") != std::string::npos)
    return invalid("an address filter's file may not have spaces or commas in its path: '" + filter.file + "'");
  return {};
}

perf_event_attr common_attributes(const PtOptions& options) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.disabled = 1;
  attributes.inherit = options.pids.empty() ? 0 : 1;
  attributes.exclude_hv = 1;
  attributes.exclude_guest = 1;
  attributes.sample_type = kRecordLayout.sample_type;
  attributes.sample_id_all = 1;
  return attributes;
}

}  // namespace

Result<PtConfig> make_pt_config(const PtPmu& pmu, const PtOptions& options) {
  if (!options.user && !options.kernel) return invalid("neither user nor kernel code is to be recorded");
  for (const uint64_t bytes : {options.aux_bytes, options.sideband_bytes, options.aux_record_bytes}) {
    if (!std::has_single_bit(bytes) || bytes < 4096)
      return invalid("the size of a ring is a power of two from 4096 on");
  }
  ConfigBuilder builder(pmu);
  put_branch(builder, pmu, options);
  if (options.tsc) builder.set("tsc");
  if (options.noretcomp) builder.set("noretcomp");
  put_mtc(builder, pmu, options);
  put_cyc(builder, options);
  put_psb(builder, pmu, options);
  put_ptwrite(builder, options);
  put_power(builder, options);
  return builder.done();
}

Result<std::string> filter_text(const PtPmu& pmu, const PtOptions& options) {
  if (options.filters.empty()) return std::string();
  const uint64_t offered = std::min<uint64_t>(pmu.address_filters, pmu.cap_value("num_address_ranges"));
  if (!pmu.offers("ip_filtering") || offered == 0) return lacks("address filters (caps/ip_filtering is 0)");
  if (options.filters.size() > offered)
    return invalid(std::to_string(options.filters.size()) + " address filters are wanted, this processor has " +
                   std::to_string(offered));
  std::string text;
  for (const AddressFilter& filter : options.filters) {
    if (auto good = check_filter(filter); !good) return good.error();
    text += (text.empty() ? "" : ",") + one_filter(filter);
  }
  return text;
}

perf_event_attr pt_attributes(const PtPmu& pmu, const PtConfig& config, const PtOptions& options) {
  perf_event_attr attributes = common_attributes(options);
  attributes.type = pmu.type;
  attributes.config = config.bits.words[0];
  attributes.config1 = config.bits.words[1];
  attributes.config2 = config.bits.words[2];
  attributes.exclude_user = options.user ? 0 : 1;
  attributes.exclude_kernel = options.kernel ? 0 : 1;
  return attributes;
}

perf_event_attr sideband_attributes(const PtOptions& options) {
  perf_event_attr attributes = common_attributes(options);
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_DUMMY;
  attributes.exclude_kernel = options.kernel ? 0 : 1;
  attributes.mmap = attributes.mmap2 = attributes.build_id = 1;
  attributes.comm = attributes.comm_exec = attributes.task = 1;
  attributes.context_switch = 1;
  attributes.namespaces = options.pids.empty() ? 1 : 0;  // it wants CAP_PERFMON, which a node-wide recording has
  attributes.ksymbol = attributes.bpf_event = attributes.text_poke = options.kernel ? 1 : 0;
  attributes.watermark = 1;
  attributes.wakeup_watermark = static_cast<uint32_t>(options.sideband_bytes / 4);
  return attributes;
}

}  // namespace fathom::snapshot
