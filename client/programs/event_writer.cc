// A traced program that numbers its events: event_writer PAGE [--threads N] [--signals MICROSECONDS] [--spans]
// [--forget N] [--fixed].
//
// PAGE is a file as event_page.h says, with room for the logs that it asks for. Each thread writes events as fast as it
// goes, until the program is killed, with payloads of all lengths. --signals: a timer's handler interrupts each thread
// so often, and writes events too.
// --spans: threads change their spans now and then. --forget: each N-th event is not written, and said to be; for those
// who check the checkers. --fixed writes what never changes, for golden files, and waits.
#include <fathom/event.h>
#include <fathom/trace.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

#include "client/detail/recorder.h"
#include "client/programs/event_page.h"

namespace {

using fathom::client::EventLogEntry;
using fathom::client::EventPage;
using fathom::client::EventPlace;
using fathom::client::EventSlot;

struct Plan {
  uint32_t threads = 1;
  uint64_t signals_us = 0;
  bool spans = false;
  bool fixed = false;
  uint64_t forget_every = 0;  // 0: none
};

thread_local uint32_t this_number __attribute__((tls_model("initial-exec")));
thread_local EventSlot* this_slot __attribute__((tls_model("initial-exec")));
thread_local EventLogEntry* this_log __attribute__((tls_model("initial-exec")));
uint64_t log_entries, forget_every;
fathom::client::detail::View pool;

// The chunk in which the cursor is: the thread's own. When a signal handler changes it between the two looks, somebody
// else may have it by now, and once more.
EventPlace cursor_place() {
  const std::atomic_ref<uint64_t> cursor(fathom_writer_v1.cursor);
  for (;;) {
    const uint32_t chunk = pool.number_of(cursor.load(std::memory_order_relaxed));
    if (chunk == ~0U) return {};
    const uint64_t state = pool.entries[chunk].state.load(std::memory_order_acquire);
    if (pool.number_of(cursor.load(std::memory_order_relaxed)) != chunk) continue;
    return {static_cast<uint16_t>(chunk), fathom::pool::epoch_of(state)};
  }
}

bool is_forgotten(uint64_t number) {
  return forget_every != 0 && number % forget_every == forget_every - 1;
}

void one_event() {
  const uint64_t number = this_slot->started.fetch_add(1, std::memory_order_relaxed);
  const EventPlace before = cursor_place();
  // Another begin for each, so that no two are alike.
  char fill[400];
  const uint32_t bytes = fathom::client::fill_bytes(number);
  for (uint32_t i = 0; i < bytes; i++) fill[i] = static_cast<char>('0' + (number + i) % 64);
  const uint32_t sum = fathom::client::event_sum(this_number, number, fill, bytes);
  if (!is_forgotten(number)) {
    FATHOM_EVENT_ON("numbered", "thread", this_number, "number", number, "fill", (std::string_view{fill, bytes}), "sum",
                    sum);
  }
  if (log_entries != 0) this_log[number % log_entries].put(number, before, cursor_place());
  this_slot->finished.fetch_add(1, std::memory_order_release);
}

void on_signal(int) {
  for (int i = 0; i < 3; i++) one_event();
}

void start_timer(uint64_t microseconds) {
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = SIGUSR1;
  event._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
  timer_t timer;
  const timespec every{0, static_cast<long>(microseconds * 1000)};
  const itimerspec times{every, every};
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 || timer_settime(timer, 0, &times, nullptr) != 0) {
    std::perror("timer");
    std::exit(1);
  }
}

void write_events(const Plan& plan, uint32_t thread, EventPage& page) {
  constexpr uint64_t kEventsPerSpan = 100;
  this_number = thread;
  this_slot = &page.slots[thread];
  this_log = page.log(thread);
  one_event();
  page.ready.fetch_add(1);
  if (plan.signals_us != 0) start_timer(plan.signals_us);
  for (;;) {
    if (!plan.spans) {
      one_event();
      continue;
    }
    fathom::Span span("writing");
    for (uint64_t i = 0; i < kEventsPerSpan; i++) one_event();
  }
}

// ---- for golden files ----------------------------------------------------------------------------------------------

void fixed_span(uint8_t number) {
  fathom_context parent{};
  std::fill(std::begin(parent.trace_id), std::end(parent.trace_id), number);
  std::fill(std::begin(parent.span_id), std::end(parent.span_id), number);
  parent.remote = 1;
  fathom_span span;
  fathom_span_start(&span, {"fixed", 5}, FATHOM_INTERNAL, &parent);
  fathom_span_activate(&span);
  for (int i = 0; i < 3; i++) FATHOM_EVENT_ON("in.span", "i", i);
  fathom_span_end(&span);
}

void write_fixed() {  // NOLINT(readability-function-size): the macros
  const unsigned char bytes[] = {0, 1, 0xfe, 0xff};
  const std::string_view begin(reinterpret_cast<const char*>(bytes), sizeof bytes);
  FATHOM_EVENT_ON("nothing");
  FATHOM_EVENT_ON("small", "i8", static_cast<int8_t>(-8), "i16", static_cast<int16_t>(-16), "u8",
                  static_cast<uint8_t>(8), "u16", static_cast<uint16_t>(16), "yes", true, "no", false);
  FATHOM_EVENT_ON("large", "i32", int32_t{-32}, "i64", INT64_MIN, "u32", uint32_t{32}, "u64", UINT64_MAX, "float", 1.5F,
                  "double", -2.25);
  FATHOM_EVENT_ON("texts", "text", "caf\u00e9", "empty", "", "bytes", (fathom_bytes{begin.data(), begin.size()}));
  fixed_span(1);
  const std::vector<char> many(3000, 'm');
  FATHOM_EVENT_ON("long", "text", (std::string_view{many.data(), 300}), "n", 7);
  FATHOM_EVENT_ON("cut", "text", (std::string_view{many.data(), many.size()}), "n", 8);
  fixed_span(2);
  for (int i = 0; i < 200; i++) FATHOM_EVENT_ON("in.next.chunk", "i", i);
}

// ---- the program ---------------------------------------------------------------------------------------------------

EventPage* map_page(const char* path) {
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  struct stat file {};
  fstat(fd, &file);
  void* page = mmap(nullptr, static_cast<size_t>(file.st_size), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (page == MAP_FAILED) {
    std::perror(path);
    std::exit(1);
  }
  close(fd);
  return static_cast<EventPage*>(page);
}

Plan read_plan(int argc, char** argv) {
  Plan plan;
  for (int i = 2; i < argc; i++) {
    const std::string_view flag = argv[i];
    if (flag == "--spans") plan.spans = true;
    if (flag == "--fixed") plan.fixed = true;
    if (flag != "--threads" && flag != "--signals" && flag != "--forget") continue;
    const uint64_t value = i + 1 < argc ? std::strtoull(argv[++i], nullptr, 10) : 0;
    if (flag == "--threads") plan.threads = std::clamp<uint32_t>(value, 1, fathom::client::kEventThreads);
    if (flag == "--signals") plan.signals_us = value;
    if (flag == "--forget") plan.forget_every = value;
  }
  return plan;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 64;
  const Plan plan = read_plan(argc, argv);
  EventPage& page = *map_page(argv[1]);
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &action, nullptr);
  if (plan.fixed) {
    write_fixed();
    page.ready.store(1);
    for (;;) pause();
  }
  // The first event makes the pool; what other threads write meanwhile would be lost, and counted.
  FATHOM_EVENT_ON("begin");
  pool = fathom::client::detail::current_view();
  log_entries = page.log_entries;
  forget_every = plan.forget_every;
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < plan.threads; t++) threads.emplace_back([&, t] { write_events(plan, t, page); });
  for (std::thread& thread : threads) thread.join();
  return 0;
}
