#include "bench/tracers/plain_rows.h"

#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <mutex>

namespace fathom::bench::tracers {

namespace {

FATHOM_BENCH_INLINE void nothing(int32_t payload) {
  asm volatile("" ::"r"(payload));
}

FATHOM_BENCH_INLINE void read_clock(int32_t payload) {
  asm volatile("" ::"r"(ticks()), "r"(payload));
}

// ---- floor: what a tracer cannot go below, a clock read and a store -------------------------------------------------

struct FloorRecord {
  uint64_t ticks;
  int32_t payload;
};
static_assert(sizeof(FloorRecord) == 16);
constexpr uint32_t kFloorRecords = 1 << 16;  // 1 MiB
struct FloorRing {
  FloorRecord* records;
  uint64_t next;
};
thread_local constinit FloorRing floor_ring{};

FATHOM_BENCH_INLINE void read_and_store(int32_t payload) {
  FloorRing& ring = floor_ring;
  ring.records[ring.next++ & (kFloorRecords - 1)] = {ticks(), payload};
}

class Floor : public LoopRow<read_and_store, kFloorRecords> {
 public:
  void start_thread() override {
    auto ring = std::make_unique<FloorRecord[]>(kFloorRecords);
    floor_ring = {ring.get(), 0};
    const std::lock_guard lock(mutex_);
    rings_.push_back(std::move(ring));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<FloorRecord[]>> rings_;
};

// ---- LW-ust, as the survey describes it: circular buffers per processor, aligned to cache lines, to which the type of
// the tracepoint, clock_gettime() and an integer are written, safe against nothing
// ---------------------------------------

struct LightRecord {
  int32_t type;
  int32_t payload;
  uint64_t nano;
};
constexpr uint32_t kLightRecords = (16 << 10) / sizeof(LightRecord);  // the survey's 16 KiB per processor
struct alignas(64) LightBuffer {
  uint64_t next;
  alignas(64) LightRecord records[kLightRecords];
};
LightBuffer light_buffers[CPU_SETSIZE];

FATHOM_BENCH_INLINE void light_event(int32_t payload) {
  LightBuffer& buffer = light_buffers[sched_getcpu()];
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  buffer.records[buffer.next++ % kLightRecords] = {
      1, payload, static_cast<uint64_t>(now.tv_sec) * kNanosPerSecond + static_cast<uint64_t>(now.tv_nsec)};
}

// ---- printf: the time and the payload into stdio's buffer, which goes to /dev/null whenever it is full: the survey
// does not say where its own went, but that no consumer was to disturb
// -------------------------------------------------------

FILE* printf_file = nullptr;
constexpr uint32_t kPrintfCalls = 4096;  // a page of text, and the next

FATHOM_BENCH_INLINE void print_event(int32_t payload) {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  std::fprintf(printf_file, "%ld.%09ld %d\n", static_cast<long>(now.tv_sec), now.tv_nsec, payload);
}

class Printf : public LoopRow<print_event, kPrintfCalls> {
 public:
  Printf() { printf_file = std::fopen("/dev/null", "we"); }
  ~Printf() override {
    if (printf_file != nullptr) std::fclose(printf_file);
    printf_file = nullptr;
  }
};

// ---- an empty system call: getppid() reads one word. (The survey's, an ioctl of a module of its own, is not to be had
// without loading one.)
// -------------------------------------------------------------------------------------------------

FATHOM_BENCH_INLINE void empty_system_call(int32_t) {
  ::syscall(SYS_getppid);
}

}  // namespace

std::vector<RowEntry> plain_rows() {
  return {{"none", make_row<LoopRow<nothing, 1>>},
          {"clock", make_row<LoopRow<read_clock, 1>>},
          {"floor", make_row<Floor>},
          {"lw_ust", make_row<LoopRow<light_event, kLightRecords>>},
          {"printf", make_row<Printf>},
          {"syscall", make_row<LoopRow<empty_system_call, 1>>}};
}

}  // namespace fathom::bench::tracers
