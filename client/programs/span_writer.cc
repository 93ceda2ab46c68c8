// A traced program that numbers its spans: span_writer PAGE [--program N] [--threads N] [--rate N] [--spans N].
//
// PAGE is a file of one page, span_page.h. Thread t's span n has the attribute "number" n and belongs to the trace
// that `trace_of` names, 128 spans to a trace, so that whoever knows how many there are can ask for each. --rate is
// spans per second and thread (0: as fast as it goes), --spans how many each thread makes (0: until it is killed); when
// they are done, the program waits until the agent has everything, and ends with 0 then.
// Threads that keep a rate sleep between spans; with --spin they do not, so that whatever gives the processor away is
// the client's doing, and they take the time of each span.
#include <fathom/trace.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "client/programs/span_page.h"

namespace {

using fathom::client::SpanPage;
using fathom::client::SpanSlot;

constexpr uint64_t kSpansPerTrace = 128;
constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kSlowNano = 1'000'000;

struct Plan {
  uint32_t program = 0;
  uint64_t threads = 1;
  uint64_t rate = 0;
  uint64_t spans = 0;
  bool spin = false;
};

uint64_t nano(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * kSecond + static_cast<uint64_t>(now.tv_nsec);
}

rusage own_usage() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage;
}

// A page that the kernel has to find first may make any store wait, for its disk or for who else asks for that page.
// What is looked for is a call that waits for another process or thread.
bool waited(const rusage& before, const rusage& after) {
  const bool faulted = after.ru_minflt + after.ru_majflt != before.ru_minflt + before.ru_majflt;
  return after.ru_nvcsw != before.ru_nvcsw && !faulted;
}

void count_one(std::atomic<uint64_t>& counter) {
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

void big_endian(uint8_t* out, uint32_t number) {
  for (int i = 0; i < 4; i++) out[i] = static_cast<uint8_t>(number >> (24 - 8 * i));
}

// Four numbers of 32 bits: "span", program, thread, n / 128.
fathom_context trace_of(uint32_t program, uint32_t thread, uint64_t number) {
  fathom_context context{};
  std::memcpy(context.trace_id, "span", 4);
  big_endian(context.trace_id + 4, program);
  big_endian(context.trace_id + 8, thread);
  big_endian(context.trace_id + 12, static_cast<uint32_t>(number / kSpansPerTrace));
  context.span_id[7] = 1;
  context.flags = 1;
  context.remote = 1;
  return context;
}

void one_span(const fathom_context& parent, uint64_t number) {
  fathom_span span;
  fathom_span_start(&span, {"numbered", 8}, FATHOM_INTERNAL, &parent);
  fathom_span_set_int(&span, {"number", 6}, static_cast<int64_t>(number));
  fathom_span_set_string(&span, {"text", 4}, {"0123456789abcdef", 16});
  fathom_span_end(&span);
}

void note_slow(SpanSlot& slot, uint64_t cpu) {
  count_one(slot.slow_calls);
  slot.longest_cpu_us.store(std::max(slot.longest_cpu_us.load(std::memory_order_relaxed), cpu / 1000));
}

// The thread's own time tells a call that works long from one that was interrupted by others.
void timed_span(const fathom_context& parent, uint64_t number, SpanSlot& slot) {
  const rusage usage = own_usage();
  const uint64_t cpu = nano(CLOCK_THREAD_CPUTIME_ID), begin = nano(CLOCK_MONOTONIC);
  one_span(parent, number);
  const uint64_t took = nano(CLOCK_MONOTONIC) - begin;
  if (waited(usage, own_usage())) count_one(slot.waits);
  if (took > slot.longest_nano.load(std::memory_order_relaxed)) slot.longest_nano.store(took);
  if (took > kSlowNano) note_slow(slot, nano(CLOCK_THREAD_CPUTIME_ID) - cpu);
}

void wait_until(uint64_t due, bool spin) {
  for (uint64_t now = nano(CLOCK_MONOTONIC); now < due; now = nano(CLOCK_MONOTONIC)) {
    if (spin) continue;
    const timespec pause{0, static_cast<long>(std::min<uint64_t>(due - now, kSecond - 1))};
    nanosleep(&pause, nullptr);
  }
}

void write_spans(const Plan& plan, uint32_t thread, SpanPage& page) {
  SpanSlot& slot = page.slots[thread];
  fathom_context parent{};
  const uint64_t begin = nano(CLOCK_MONOTONIC);
  // So many a second cannot be slept for one by one.
  const uint64_t at_once = plan.spin ? 1 : 1 + plan.rate / 2000;
  for (uint64_t n = 0; plan.spans == 0 || n < plan.spans; n++) {
    if (n % kSpansPerTrace == 0) parent = trace_of(plan.program, thread, n);
    if (plan.rate != 0 && n % at_once == 0) wait_until(begin + n * kSecond / plan.rate, plan.spin);
    plan.spin ? timed_span(parent, n, slot) : one_span(parent, n);
    slot.lost.store(fathom_lost_spans(), std::memory_order_relaxed);
    slot.finished.store(n + 1, std::memory_order_release);
    if (n == 0) page.ready.fetch_add(1);
  }
}

SpanPage* map_page(const char* path) {
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  void* page = mmap(nullptr, sizeof(SpanPage), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (page == MAP_FAILED) {
    std::perror(path);
    std::exit(1);
  }
  close(fd);
  return static_cast<SpanPage*>(page);
}

Plan read_plan(int argc, char** argv) {
  Plan plan;
  for (int i = 2; i < argc; i++) {
    const std::string_view flag = argv[i];
    if (flag == "--spin") {
      plan.spin = true;
      continue;
    }
    const uint64_t value = i + 1 < argc ? std::strtoull(argv[++i], nullptr, 10) : 0;
    if (flag == "--program") plan.program = static_cast<uint32_t>(value);
    if (flag == "--threads") plan.threads = std::clamp<uint64_t>(value, 1, fathom::client::kPageThreads);
    if (flag == "--rate") plan.rate = value;
    if (flag == "--spans") plan.spans = value;
  }
  return plan;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 64;
  const Plan plan = read_plan(argc, argv);
  SpanPage& page = *map_page(argv[1]);
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < plan.threads; t++) threads.emplace_back([&, t] { write_spans(plan, t, page); });
  for (std::thread& thread : threads) thread.join();
  return fathom_flush(60 * kSecond) == 0 ? 0 : 1;
}
