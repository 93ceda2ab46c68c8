#include "node-agent/kernel/bpf_programs.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <sys/mman.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <optional>
#include <tuple>

namespace fathom::agent::kernel {

extern const unsigned char kRecorderObject[];
extern const size_t kRecorderObjectBytes;

namespace {

constexpr size_t kMostSaidBytes = 500;

constexpr std::string_view kSwitches = "context switches";
constexpr std::string_view kSyscalls = "system calls";
constexpr std::string_view kFaults = "page faults";
constexpr std::string_view kThreads = "threads";

// on_exit first: it is what takes a bit away that another sets.
constexpr Tracepoint kTracepoints[] = {
    {"on_exit", "sched_process_exit", kThreads, true},    {"on_fork", "sched_process_fork", kThreads, true},
    {"on_exec", "sched_process_exec", kThreads, true},    {"on_rename", "task_rename", kThreads, true},
    {"on_switch", "sched_switch", kSwitches, true},       {"on_wake", "sched_waking", kSwitches, true},
    {"on_user_fault", "page_fault_user", kFaults, false}, {"on_kernel_fault", "page_fault_kernel", kFaults, false},
    {"on_enter", "sys_enter", kSyscalls, true},           {"on_leave", "sys_exit", kSyscalls, true},
};

// What libbpf has to say goes into our error, and not to standard error.
thread_local std::string said;

__attribute__((format(printf, 2, 0))) int note(libbpf_print_level level, const char* format, va_list words) {
  if (level != LIBBPF_WARN || said.size() > kMostSaidBytes) return 0;
  char line[256];
  const int size = std::vsnprintf(line, sizeof line, format, words);
  if (size > 0) said.append(line, std::min(static_cast<size_t>(size), sizeof line - 1));
  return 0;
}

void listen_to_libbpf() {
  static const bool done = [] { return libbpf_set_print(note), true; }();
  (void)done;
  said.clear();
}

Error refusal(const std::string& what, int fault) {
  std::string message = what + ": " + std::strerror(fault);
  std::replace(said.begin(), said.end(), '\n', ' ');
  if (!said.empty()) message += " (" + said.substr(0, said.size() - 1) + ")";
  return {ErrorCode::kUnsupported, std::move(message)};
}

bool knows(const btf* types, std::string_view tracepoint) {
  const std::string name = "btf_trace_" + std::string(tracepoint);
  return btf__find_by_name_kind(types, name.c_str(), BTF_KIND_TYPEDEF) > 0;
}

// All that the programs declare, in their order.
struct Constants {
  uint64_t ring_mask;
  int64_t count_from_queue;
};

// Where a variable lies in each processor's part of the kernel's memory.
std::optional<int64_t> place_of_variable(const btf* types, const char* name) {
  const int section_id = btf__find_by_name_kind(types, ".data..percpu", BTF_KIND_DATASEC);
  const int variable_id = btf__find_by_name_kind(types, name, BTF_KIND_VAR);
  if (section_id <= 0 || variable_id <= 0) return std::nullopt;
  const btf_type* section = btf__type_by_id(types, static_cast<uint32_t>(section_id));
  std::span<const btf_var_secinfo> variables(btf_var_secinfos(section), btf_vlen(section));
  auto found = std::ranges::find(variables, static_cast<uint32_t>(variable_id), &btf_var_secinfo::type);
  if (found == variables.end()) return std::nullopt;
  return found->offset;
}

// Without it a task does not lead to its processor's run queue.
bool has_group_scheduling(const btf* types) {
  const int entity_id = btf__find_by_name_kind(types, "sched_entity", BTF_KIND_STRUCT);
  if (entity_id <= 0) return false;
  const btf_type* entity = btf__type_by_id(types, static_cast<uint32_t>(entity_id));
  return std::ranges::any_of(std::span(btf_members(entity), btf_vlen(entity)), [&](const btf_member& member) {
    return std::string_view(btf__name_by_offset(types, member.name_off)) == "cfs_rq";
  });
}

// On x86: of Linux until 6.1, and since 6.15; or of the struct around it, between these. 0: not known.
int64_t count_from_queue() {
  btf* types = btf__load_vmlinux_btf();
  if (types == nullptr) return 0;
  const std::optional<int64_t> queue = place_of_variable(types, "runqueues");
  std::optional<int64_t> count = place_of_variable(types, "pcpu_hot");
  if (!count) count = place_of_variable(types, "__preempt_count");
  const bool is_of_use = queue && count && has_group_scheduling(types);
  btf__free(types);
  return is_of_use ? *count - *queue : 0;
}

struct ChosenBit {
  size_t word;
  uint64_t mask;
};

ChosenBit bit_of(pid_t pid) {
  const auto number = static_cast<uint32_t>(pid) % kMostPids;
  return {number / 64, uint64_t{1} << (number % 64)};
}

uint64_t misses_of(const bpf_program* program) {
  bpf_prog_info info{};
  uint32_t size = sizeof info;
  const int fd = bpf_program__fd(program);
  return fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &size) == 0 ? info.recursion_misses : 0;
}

}  // namespace

std::span<const Tracepoint> tracepoints() {
  return kTracepoints;
}

Result<std::vector<std::string_view>> known_tracepoints() {
  listen_to_libbpf();
  btf* types = btf__load_vmlinux_btf();
  if (types == nullptr) return refusal("the kernel's description of its types (BTF) cannot be read", errno);
  std::vector<std::string_view> names;
  for (const Tracepoint& tracepoint : kTracepoints) {
    if (knows(types, tracepoint.name)) names.push_back(tracepoint.name);
  }
  btf__free(types);
  return names;
}

bool knows_interrupts() {
#if defined(__aarch64__)
  return true;
#else
  return count_from_queue() != 0;
#endif
}

size_t processor_count() {
  listen_to_libbpf();
  const int count = libbpf_num_possible_cpus();
  return count > 0 ? static_cast<size_t>(count) : 1;
}

MapMemory::~MapMemory() {
  if (base_ != nullptr) ::munmap(base_, bytes_);
}

Result<> MapMemory::map(const bpf_map* map, bool writable) {
  assert(base_ == nullptr);
  const size_t bytes = size_t{bpf_map__value_size(map)} * bpf_map__max_entries(map);
  const int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
  void* base = ::mmap(nullptr, bytes, protection, MAP_SHARED, bpf_map__fd(map), 0);
  if (base == MAP_FAILED) return refusal("a BPF map cannot be mapped", errno);
  base_ = base;
  bytes_ = bytes;
  return {};
}

Result<std::unique_ptr<BpfPrograms>> BpfPrograms::load(uint64_t ring_bytes, bool system_calls) {
  assert(ring_bytes >= kLeastRingBytes && (ring_bytes & (ring_bytes - 1)) == 0);
  listen_to_libbpf();
  std::unique_ptr<BpfPrograms> programs(new BpfPrograms);
  if (Result<> opened = programs->open(ring_bytes); !opened) return opened.error();
  if (Result<> chosen = programs->choose_programs(system_calls); !chosen) return chosen.error();
  if (const int fault = bpf_object__load(programs->object_); fault != 0)
    return refusal("the kernel does not take the recorder's programs", -fault);
  if (Result<> mapped = programs->map_memory(); !mapped) return mapped.error();
  return programs;
}

Result<> BpfPrograms::open(uint64_t ring_bytes) {
  // Types are looked for in the kernel alone. libbpf would look for one that it lacks (other versions have it) among
  // the modules' too, which only CAP_SYS_ADMIN may list, and give up without.
  LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = "fathom_recorder", .btf_custom_path = kTypesOfKernel);
  object_ = bpf_object__open_mem(kRecorderObject, kRecorderObjectBytes, &options);
  if (object_ == nullptr) return refusal("the recorder's programs cannot be opened", errno);
  ring_bytes_ = ring_bytes;
  ring_count_ = processor_count();
  bpf_map* rings = bpf_object__find_map_by_name(object_, "rings");
  bpf_map__set_value_size(rings, static_cast<uint32_t>(kRingHeaderBytes + ring_bytes));
  bpf_map__set_max_entries(rings, static_cast<uint32_t>(ring_count_));
  const Constants set{ring_bytes - kRecordBytes, count_from_queue()};
  bpf_map* constants = bpf_object__find_map_by_name(object_, ".rodata");
  if (const int fault = bpf_map__set_initial_value(constants, &set, sizeof set); fault != 0)
    return refusal("the ring's size cannot be set", -fault);
  return {};
}

void BpfPrograms::leave_out(const Tracepoint& tracepoint) {
  bpf_program* program = bpf_object__find_program_by_name(object_, std::string(tracepoint.program).c_str());
  bpf_program__set_autoload(program, false);
}

Result<> BpfPrograms::choose_programs(bool system_calls) {
  has_system_calls_ = system_calls;
  Result<std::vector<std::string_view>> known = known_tracepoints();
  if (!known) return known.error();
  for (const Tracepoint& tracepoint : kTracepoints) {
    const bool is_known = std::ranges::find(*known, tracepoint.name) != known->end();
    if (!is_known && tracepoint.required)
      return Error{ErrorCode::kUnsupported, "this kernel has no tracepoint " + std::string(tracepoint.name)};
    if (!is_known || (tracepoint.source == kSyscalls && !system_calls)) leave_out(tracepoint);
  }
  return {};
}

Result<> BpfPrograms::map_memory() {
  for (auto [memory, name, writable] : {std::tuple{&rings_, "rings", false},
                                        {&slots_, "slots", true},
                                        {&chosen_, ".bss.chosen", true},
                                        {&ends_, ".bss.ends", false}}) {
    Result<> mapped = memory->map(bpf_object__find_map_by_name(object_, name), writable);
    if (!mapped) return mapped;
  }
  return {};
}

BpfPrograms::~BpfPrograms() {
  detach();
  bpf_object__close(object_);
}

Result<> BpfPrograms::attach() {
  listen_to_libbpf();
  for (const Tracepoint& tracepoint : kTracepoints) {
    bpf_program* program = bpf_object__find_program_by_name(object_, std::string(tracepoint.program).c_str());
    if (!bpf_program__autoload(program)) continue;
    bpf_link* link = bpf_program__attach(program);
    if (link == nullptr) {
      Error error = refusal("the kernel does not let a program listen to " + std::string(tracepoint.name), errno);
      detach();
      return error;
    }
    links_.push_back(link);
  }
  return {};
}

void BpfPrograms::detach() {
  for (bpf_link* link : links_) bpf_link__destroy(link);
  links_.clear();
}

RingView BpfPrograms::ring(size_t processor) const {
  const std::byte* base = rings_.as<const std::byte>().data() + processor * (kRingHeaderBytes + ring_bytes_);
  return {reinterpret_cast<const RingHeader*>(base), reinterpret_cast<const Record*>(base + kRingHeaderBytes),
          ring_bytes_ / kRecordBytes};
}

void BpfPrograms::set_chosen(pid_t pid, bool chosen) {
  const ChosenBit bit = bit_of(pid);
  uint64_t& word = chosen_.as<uint64_t>()[bit.word];
  if (chosen)
    __atomic_fetch_or(&word, bit.mask, __ATOMIC_SEQ_CST);
  else
    __atomic_fetch_and(&word, ~bit.mask, __ATOMIC_SEQ_CST);
}

bool BpfPrograms::is_chosen(pid_t pid) const {
  const ChosenBit bit = bit_of(pid);
  return (__atomic_load_n(&chosen_.as<const uint64_t>()[bit.word], __ATOMIC_SEQ_CST) & bit.mask) != 0;
}

uint64_t BpfPrograms::missed() const {
  uint64_t sum = 0;
  bpf_program* program = nullptr;
  while ((program = bpf_object__next_program(object_, program)) != nullptr) sum += misses_of(program);
  return sum;
}

}  // namespace fathom::agent::kernel
