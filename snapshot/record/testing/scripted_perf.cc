#include "snapshot/record/testing/scripted_perf.h"

#include <sys/mman.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "snapshot/format/testing/perf_record_builder.h"

namespace fathom::snapshot {
namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr std::string_view kDevice = "/sys/bus/event_source/devices/intel_pt/";

perf_event_mmap_page& page_of(ScriptedPerf::Event& event) {
  return *reinterpret_cast<perf_event_mmap_page*>(event.ring);
}

constexpr std::pair<std::string_view, std::string_view> kDeviceFiles[] = {
    {"type", "8\n"},
    {"nr_addr_filters", "2\n"},
    {"max_nonturbo_ratio", "36\n"},
    {"tsc_art_ratio", "300:2\n"},
    {"format/pt", "config:0\n"},
    {"format/cyc", "config:1\n"},
    {"format/pwr_evt", "config:4\n"},
    {"format/fup_on_ptw", "config:5\n"},
    {"format/mtc", "config:9\n"},
    {"format/tsc", "config:10\n"},
    {"format/noretcomp", "config:11\n"},
    {"format/ptw", "config:12\n"},
    {"format/branch", "config:13\n"},
    {"format/mtc_period", "config:14-17\n"},
    {"format/cyc_thresh", "config:19-22\n"},
    {"format/psb_period", "config:24-27\n"},
    {"caps/mtc", "1\n"},
    {"caps/mtc_periods", "249\n"},  // 0, 3, 6, 9
    {"caps/psb_cyc", "1\n"},
    {"caps/cycle_thresholds", "3fff\n"},
    {"caps/psb_periods", "3f\n"},
    {"caps/ip_filtering", "1\n"},
    {"caps/num_address_ranges", "2\n"},
    {"caps/ptwrite", "1\n"},
    {"caps/power_event_trace", "0\n"},
};

constexpr std::string_view kCpuInfo =
    "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 158\nmodel name\t: A Scripted Processor\n"
    "stepping\t: 9\nflags\t\t: fpu tsc intel_pt avx2\n\nprocessor\t: 1\nvendor_id\t: GenuineIntel\n";

}  // namespace

ScriptedPerf::ScriptedPerf() {
  std::string name = std::filesystem::temp_directory_path() / "scripted_perf_XXXXXX";
  root_ = ::mkdtemp(name.data());
  for (const auto& [file, content] : kDeviceFiles) put_file(std::string(kDevice) + std::string(file), content);
  put_file("/proc/cpuinfo", kCpuInfo);
  put_file("/proc/sys/kernel/perf_event_paranoid", "2\n");
  put_file("/proc/sys/kernel/perf_event_mlock_kb", "516\n");
  put_file("/proc/sys/kernel/hostname", "scripted\n");
  put_file("/proc/self/uid_map", "         0          0 4294967295\n");
  std::filesystem::create_directory(path("/proc/self/ns"));
  std::filesystem::create_symlink("pid:[4026531836]", path("/proc/self/ns/pid"));
  put_file("/sys/devices/system/cpu/online", "0-1\n");
}

ScriptedPerf::~ScriptedPerf() {
  for (const auto& [at, bytes] : areas_) ::munmap(at, bytes);
  std::filesystem::remove_all(root_);
}

void ScriptedPerf::put_file(const std::string& absolute, std::string_view content) {
  const std::filesystem::path file = path(absolute);
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << content;
}

void ScriptedPerf::remove_file(const std::string& absolute) {
  std::filesystem::remove_all(path(absolute));
}

void ScriptedPerf::set_owner(int32_t pid, uint32_t uid, uint32_t effective) {
  const std::string process = "/proc/" + std::to_string(pid);
  std::string ids = "Name:\tx\nUid:\t" + std::to_string(uid);
  for (int i = 0; i < 3; ++i) ids += "\t" + std::to_string(effective);
  put_file(process + "/status", ids + "\nGid:\t7\t7\t7\t7\n");
  owners_[process] = effective;
}

std::optional<uint32_t> ScriptedPerf::owner_of(const std::string& absolute) const {
  const auto found = owners_.find(absolute);
  return found != owners_.end() ? std::optional(found->second) : PerfSystem::owner_of(absolute);
}

void ScriptedPerf::use_real_processes() {
  remove_file("/proc");
  std::filesystem::create_directory_symlink("/proc", path("/proc"));
}

void ScriptedPerf::take_offline(int32_t cpu) {
  offline_.push_back(cpu);
  put_file("/sys/devices/system/cpu/online", cpu == 0 ? "1\n" : "0\n");
}

int ScriptedPerf::open(const perf_event_attr& attributes, int32_t pid, int32_t cpu, int group) {
  for (const int32_t which : {cpu, -1}) {
    const auto refused = refused_.find({attributes.type, which});
    if (refused != refused_.end()) return -refused->second;
  }
  if (std::ranges::find(offline_, cpu) != offline_.end()) return -ENODEV;
  auto event = std::make_unique<Event>();
  event->attributes = attributes;
  event->pid = pid;
  event->cpu = cpu;
  event->group = group;
  events_.push_back(std::move(event));
  return kFirstEvent + static_cast<int>(events_.size()) - 1;
}

void ScriptedPerf::close(int event) {
  assert(event_of(event).open);
  event_of(event).open = false;
  event_of(event).enabled = false;
}

void ScriptedPerf::stop(Event& event) {
  if (event.enabled && event.aux != nullptr) {
    // A head at the very end is one at the beginning: the kernel says no more.
    __atomic_store_n(&page_of(event).aux_head, event.aux_written % event.aux_bytes, __ATOMIC_RELEASE);
  }
  event.enabled = false;
}

int ScriptedPerf::control(int number, unsigned long request, unsigned long argument) {
  Event& event = event_of(number);
  const std::string which = std::to_string(event.attributes.type) + ":" + std::to_string(event.cpu);
  if (request == PERF_EVENT_IOC_SET_OUTPUT) {
    event.output = static_cast<int>(argument);
    return event_of(event.output).cpu == event.cpu ? 0 : -EINVAL;
  }
  if (std::ranges::find(offline_, event.cpu) != offline_.end()) return -ENODEV;
  if (request == PERF_EVENT_IOC_DISABLE) {
    calls_.push_back("disable " + which);
    stop(event);
  } else if (request == PERF_EVENT_IOC_ENABLE) {
    calls_.push_back("enable " + which);
    event.enabled = true;
    if (on_enable_ && event.attributes.type == kPtType) on_enable_(event.cpu);
    if (on_watch_ && event.attributes.type == PERF_TYPE_BREAKPOINT) on_watch_(event.cpu);
  }
  return 0;
}

int ScriptedPerf::set_filter(int event, const std::string& filter) {
  event_of(event).filter = filter;
  return 0;
}

MappedBytes ScriptedPerf::map(int number, uint64_t bytes, uint64_t offset, bool writable) {
  if (refused_map_ != 0) return {nullptr, refused_map_};
  Event& event = event_of(number);
  // The kernel's rules: the area of packets is where the page says, and of a power of two.
  if (offset != 0 && (page_of(event).aux_offset != offset || page_of(event).aux_size != bytes || writable))
    return {nullptr, EINVAL};
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  areas_.emplace_back(at, bytes);
  if (offset != 0) {
    event.aux = static_cast<uint8_t*>(at);
    event.aux_bytes = bytes;
    return {at, 0};
  }
  event.ring = static_cast<uint8_t*>(at);
  event.ring_bytes = bytes - kPageBytes;
  perf_event_mmap_page& page = page_of(event);
  page.cap_user_time_zero = 1;
  page.time_mult = 1u << 31;
  page.time_shift = 31;
  return {at, 0};
}

void ScriptedPerf::unmap(void* at, uint64_t bytes) {
  std::erase(areas_, std::pair(at, bytes));
  ::munmap(at, bytes);
}

ScriptedPerf::Event* ScriptedPerf::find(uint32_t type, int32_t cpu, uint64_t config) {
  for (auto& event : events_) {
    const bool same = event->attributes.type == type && event->cpu == cpu && event->output < 0;
    if (event->open && same && (config == UINT64_MAX || event->attributes.config == config)) return event.get();
  }
  return nullptr;
}

uint64_t ScriptedPerf::open_events() const {
  return static_cast<uint64_t>(std::ranges::count_if(events_, [](const auto& event) { return event->open; }));
}

void ScriptedPerf::write_packets(int32_t cpu, std::string_view bytes) {
  Event& event = *find(kPtType, cpu);
  if (!event.enabled) return;
  for (const char byte : bytes) event.aux[event.aux_written++ % event.aux_bytes] = static_cast<uint8_t>(byte);
}

bool ScriptedPerf::put(Event& event, const std::string& record) {
  perf_event_mmap_page& page = page_of(event);
  const uint64_t tail = __atomic_load_n(&page.data_tail, __ATOMIC_ACQUIRE);
  if (page.data_head - tail + record.size() > event.ring_bytes) return false;
  for (size_t i = 0; i < record.size(); ++i)
    event.ring[kPageBytes + (page.data_head + i) % event.ring_bytes] = static_cast<uint8_t>(record[i]);
  __atomic_store_n(&page.data_head, page.data_head + record.size(), __ATOMIC_RELEASE);
  return true;
}

void ScriptedPerf::append(Event& event, const std::string& record) {
  if (event.lost > 0) {
    PerfRecordBuilder lost(PERF_RECORD_LOST);
    const std::string said = lost.u64(7).u64(event.lost).with_id(1, 1, now, static_cast<uint32_t>(event.cpu));
    if (put(event, said)) event.lost = 0;
  }
  if (event.lost > 0 || !put(event, record)) ++event.lost;
}

void ScriptedPerf::write_record(int32_t cpu, const std::string& record) {
  Event& event = *find(PERF_TYPE_SOFTWARE, cpu, PERF_COUNT_SW_DUMMY);
  if (event.enabled) append(event, record);
}

void ScriptedPerf::write_sample(int32_t cpu, const std::string& record) {
  Event& event = *find(PERF_TYPE_BREAKPOINT, cpu);
  if (event.enabled) append(event, record);
}

}  // namespace fathom::snapshot
