// BpfPrograms: the programs of bpf/recorder.bpf.c in the kernel, and the memory that they share with us.
//
// Purpose: the one place that speaks with libbpf. Ownership: programs, maps and mappings end with this object; so do
// they with our process, however it ends. Thread safety: attach() and detach() by one thread at a time; the memory by
// any. Errors: kUnsupported with the kernel's words; kernel_availability.h knows the cures.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "node-agent/kernel/ring_reader.h"

struct bpf_object;
struct bpf_link;
struct bpf_map;

namespace fathom::agent::kernel {

// Where the kernel describes its types.
inline constexpr const char* kTypesOfKernel = "/sys/kernel/btf/vmlinux";

// What one of the programs listens to. All that share a `source` are needed for it.
struct Tracepoint {
  std::string_view program;
  std::string_view name;
  std::string_view source;
  bool required;  // else the recorder does without where a kernel has it not
};
std::span<const Tracepoint> tracepoints();
// Those of ours that the running kernel has; an error when it does not describe itself (BTF).
Result<std::vector<std::string_view>> known_tracepoints();
// Of a wake-up: whether this kernel lets us see that it came from an interrupt (docs/kernel-events.md).
bool knows_interrupts();
// Whether it can be found out of a wake-up that an interrupt made it; empty, or why not.
std::string why_no_interrupts();

// A mapping of a BPF map; unmapped at its end.
class MapMemory {
 public:
  MapMemory() = default;
  MapMemory(const MapMemory&) = delete;
  MapMemory& operator=(const MapMemory&) = delete;
  ~MapMemory();
  Result<> map(const bpf_map* map, bool writable);
  template <typename T>
  std::span<T> as() const {
    return {static_cast<T*>(base_), bytes_ / sizeof(T)};
  }

 private:
  void* base_ = nullptr;
  size_t bytes_ = 0;
};

class BpfPrograms {
 public:
  // `ring_bytes`: of each processor's ring; a power of two from kLeastRingBytes on.
  static Result<std::unique_ptr<BpfPrograms>> load(uint64_t ring_bytes, bool system_calls);
  ~BpfPrograms();

  // Until then nothing runs, and nobody pays. Takes some milliseconds.
  Result<> attach();
  void detach();

  size_t ring_count() const { return ring_count_; }
  RingView ring(size_t processor) const;
  // Of system calls that are under way; none if system calls are not recorded.
  std::span<SlotSet> slots() const { return has_system_calls_ ? slots_.as<SlotSet>() : std::span<SlotSet>(); }
  // How processes ended while the programs were attached (process_ends.h).
  std::span<const uint64_t> ends() const { return ends_.as<const uint64_t>(); }
  void set_chosen(pid_t pid, bool chosen);
  bool is_chosen(pid_t pid) const;  // no longer, too, when the process has ended
  // Since load(): times that a program was not run, because it was interrupted by itself.
  uint64_t missed() const;

 private:
  BpfPrograms() = default;
  Result<> open(uint64_t ring_bytes);
  Result<> choose_programs(bool system_calls);
  void leave_out(const Tracepoint& tracepoint);
  Result<> map_memory();

  bpf_object* object_ = nullptr;
  std::vector<bpf_link*> links_;
  uint64_t ring_bytes_ = 0;
  size_t ring_count_ = 0;
  bool has_system_calls_ = false;
  MapMemory rings_, slots_, chosen_, ends_;
};

inline constexpr uint64_t kLeastRingBytes = 65'536;
size_t processor_count();  // that there may ever be

}  // namespace fathom::agent::kernel
