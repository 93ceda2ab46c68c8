#include "snapshot/record/pt/pmu.h"

#include <algorithm>
#include <filesystem>

#include "snapshot/record/pt/system_files.h"

namespace fathom::snapshot {
namespace {

constexpr uint64_t kBits = 64;
constexpr size_t kMostFileBytes = 4096;

Error no_field(std::string_view text) {
  return corrupt("'" + std::string(text.substr(0, 80)) + "' describes no field of an event's configuration");
}

bool append_bits(std::string_view range, PmuField& field) {
  const size_t dash = range.find('-');
  const auto first = parse_number(range.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : parse_number(range.substr(dash + 1));
  if (!first || !last || *first > *last || *last >= kBits) return false;
  for (uint64_t bit = *first; bit <= *last; ++bit) field.bits.push_back(static_cast<uint8_t>(bit));
  return field.bits.size() <= kBits;
}

bool parse_word(std::string_view name, PmuField& field) {
  if (name == "config") return true;
  if (name == "config1") field.word = 1;
  if (name == "config2") field.word = 2;
  return field.word != 0;
}

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error))
    names.push_back(entry.path().filename());
  return names;
}

Result<> read_fields(const std::string& device, PtPmu& pmu) {
  for (const std::string& name : names_in(device + "/format")) {
    auto text = read_small_file(device + "/format/" + name, kMostFileBytes);
    auto field = parse_pmu_field(text.value_or(""));
    if (!field) return field.error();
    pmu.fields.emplace(name, *field);
  }
  return {};
}

// A cap that is no number is one that we cannot rely on.
void read_caps(const std::string& device, PtPmu& pmu) {
  for (const std::string& name : names_in(device + "/caps")) {
    const auto value = parse_number(read_small_file(device + "/caps/" + name, kMostFileBytes).value_or(""), 16);
    if (value) pmu.caps.emplace(name, *value);
  }
}

uint64_t number_in(const std::string& path, uint64_t most) {
  const auto number = parse_number(read_small_file(path, kMostFileBytes).value_or(""));
  return number && *number <= most ? *number : 0;
}

// "252:2": the time-stamp counter ticks 252 / 2 times with each tick of the crystal.
void read_art_ratio(const std::string& device, PtPmu& pmu) {
  const std::string text = read_small_file(device + "/tsc_art_ratio", kMostFileBytes).value_or("");
  const size_t colon = text.find(':');
  if (colon == std::string::npos) return;
  const auto numerator = parse_number(text.substr(0, colon));
  const auto denominator = parse_number(text.substr(colon + 1));
  if (!numerator || !denominator || *numerator > UINT32_MAX || *denominator > UINT32_MAX) return;
  pmu.cpuid_0x15_ebx = static_cast<uint32_t>(*numerator);
  pmu.cpuid_0x15_eax = static_cast<uint32_t>(*denominator);
}

// The value behind "name : value" in the first paragraph of /proc/cpuinfo.
std::string_view cpu_fact(std::string_view text, std::string_view name) {
  for (const std::string_view line : split_lines(text)) {
    const size_t colon = line.find(':');
    if (line.empty()) break;
    if (colon == std::string_view::npos || !line.starts_with(name)) continue;
    if (line.substr(name.size(), colon - name.size()).find_first_not_of(" \t") != std::string_view::npos) continue;
    return line.substr(std::min(colon + 2, line.size()));
  }
  return {};
}

}  // namespace

Result<PmuField> parse_pmu_field(std::string_view text) {
  const size_t colon = text.find(':');
  PmuField field;
  if (colon == std::string_view::npos || !parse_word(text.substr(0, colon), field)) return no_field(text);
  std::string_view ranges = text.substr(colon + 1);
  while (!ranges.empty()) {
    const size_t comma = std::min(ranges.find(','), ranges.size());
    if (!append_bits(ranges.substr(0, comma), field)) return no_field(text);
    ranges.remove_prefix(std::min(comma + 1, ranges.size()));
  }
  if (field.bits.empty()) return no_field(text);
  return field;
}

Result<> put_field(PmuConfig& config, const PmuField& field, uint64_t value) {
  if (field.bits.size() < kBits && (value >> field.bits.size()) != 0)
    return invalid(std::to_string(value) + " does not fit its field of " + std::to_string(field.bits.size()) + " bits");
  for (size_t i = 0; i < field.bits.size(); ++i) {
    if (value >> i & 1) config.words[field.word] |= uint64_t{1} << field.bits[i];
  }
  return {};
}

uint64_t PtPmu::cap_value(std::string_view cap) const {
  const auto found = caps.find(cap);
  return found == caps.end() ? 0 : found->second;
}

Result<PtPmu> read_pt_pmu(const PerfSystem& system) {
  const std::string device = system.path(kPtDevice);
  const auto type = parse_number(read_small_file(device + "/type", kMostFileBytes).value_or(""));
  if (!type || *type > UINT32_MAX)
    return Error{ErrorCode::kUnsupported, "this host has no Intel PT that the kernel knows (no intel_pt among " +
                                              std::string(kPtDevice.substr(0, kPtDevice.rfind('/'))) +
                                              "); `fathom doctor --pt` says why"};
  PtPmu pmu;
  pmu.type = static_cast<uint32_t>(*type);
  if (auto read = read_fields(device, pmu); !read) return read.error();
  read_caps(device, pmu);
  pmu.address_filters = static_cast<uint32_t>(number_in(device + "/nr_addr_filters", 64));
  pmu.max_nonturbo_ratio = static_cast<uint8_t>(number_in(device + "/max_nonturbo_ratio", UINT8_MAX));
  read_art_ratio(device, pmu);
  return pmu;
}

bool has_ptwrite(const PerfSystem& system) {
  const auto pmu = read_pt_pmu(system);
  return pmu && pmu->offers("ptwrite") && pmu->fields.contains("ptw");
}

Cpu read_cpu(const PerfSystem& system) {
  const std::string text = read_small_file(system.path("/proc/cpuinfo"), 64 << 10).value_or("");
  auto number = [&](std::string_view name, uint64_t most) {
    const auto value = parse_number(cpu_fact(text, name));
    return value && *value <= most ? *value : 0;
  };
  Cpu cpu;
  cpu.intel = cpu_fact(text, "vendor_id") == "GenuineIntel";
  cpu.family = static_cast<uint16_t>(number("cpu family", UINT16_MAX));
  cpu.model = static_cast<uint8_t>(number("model", UINT8_MAX));
  cpu.stepping = static_cast<uint8_t>(number("stepping", UINT8_MAX));
  return cpu;
}

}  // namespace fathom::snapshot
