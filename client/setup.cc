#include "client/setup.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/un.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <string_view>

#include "client/detail/tracepoints.h"
#include "client/fork.h"
#include "client/process.h"
#include "client/resource.h"
#include "client/signal_context.h"
#include "client/span_marks.h"
#include "client/thread.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

// Not there in static executables, which need not be held in memory.
#pragma weak dlopen
#pragma weak dladdr

namespace fathom::client {
namespace {

bool processor_has_steady_tsc() {
#if defined(__x86_64__)
  unsigned a, b, c, d;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & 1U << 8) != 0;
#else
  return false;
#endif
}

// The kernel watches whether the processors' counters agree, and takes another clock when they do not.
bool kernel_trusts_tsc() {
  const int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return true;  // it does not say
  char text[8] = {};
  const ssize_t got = read(fd, text, sizeof text);
  close(fd);
  return got >= 3 && std::string_view(text, 3) == "tsc";
}

// A setting that means nothing is said where the program's own faults are, once, when it is loaded: later, descriptor 2
// might be something else. An empty one means as much as none.
void complain(const char* name, const char* value, const char* why) {
  dprintf(STDERR_FILENO, "fathom: %s=%.120s %s\n", name, value, why);
}

bool choose_tsc() {
  const char* wish = secure_getenv("FATHOM_CLOCK");
  if (wish != nullptr && std::string_view(wish) == "monotonic") return false;
  if (wish != nullptr && *wish != '\0') complain("FATHOM_CLOCK", wish, "is not 'monotonic', and is ignored");
  return processor_has_steady_tsc() && kernel_trusts_tsc();
}

// Nothing but digits; 0 is no size.
unsigned long whole_number(const char* text) {
  if (*text < '0' || *text > '9') return 0;
  char* end;
  const unsigned long number = strtoul(text, &end, 10);
  return *end == '\0' ? number : 0;
}

void choose_pool_size() {
  constexpr unsigned long kChunksPerMib = (1 << 20) / pool::kChunkBytes;
  static_assert(pool::kMostChunks / kChunksPerMib == 256 && pool::kDefaultChunks / kChunksPerMib == 16);
  if (const char* text = secure_getenv("FATHOM_POOL_MIB"); text != nullptr && *text != '\0') {
    const unsigned long mib = whole_number(text);
    if (mib >= 1 && mib <= 256) {
      settings.chunk_count = static_cast<uint32_t>(mib * kChunksPerMib);
    } else {
      complain("FATHOM_POOL_MIB", text, "is not a whole number from 1 to 256; 16 is used");
    }
  }
  settings.thread_slots = thread_slots_for(settings.chunk_count);
  settings.chunks_offset = pool_geometry().chunks_offset;
}

void choose_detail() {
  if (const char* text = secure_getenv("FATHOM_DETAIL_MIB"); text != nullptr && *text != '\0') {
    const unsigned long mib = whole_number(text);
    if (std::string_view(text) == "0" || (mib >= 1 && mib <= 1024)) {
      settings.detail_mib = static_cast<uint32_t>(mib);
    } else {
      complain("FATHOM_DETAIL_MIB", text, "is not a whole number from 0 to 1024; 32 is used");
    }
  }
  const char* mode = secure_getenv("FATHOM_DETAIL_MODE");
  if (mode == nullptr || *mode == '\0' || std::string_view(mode) == "overwrite") return;
  settings.discard = std::string_view(mode) == "discard";
  if (!settings.discard) complain("FATHOM_DETAIL_MODE", mode, "is neither 'overwrite' nor 'discard', and is ignored");
}

void choose_tracepoints() {
  const char* patterns = secure_getenv("FATHOM_TRACEPOINTS");
  if (patterns == nullptr || detail::switch_tracepoints(patterns)) return;
  complain("FATHOM_TRACEPOINTS", patterns, "is longer than 4000 bytes, and is ignored");
}

void choose_marks() {
  settings.ptwrite = processor_has_ptwrite();
  const char* wish = secure_getenv("FATHOM_PTWRITE");
  if (wish == nullptr || *wish == '\0' || std::string_view(wish) == "0") return;
  settings.marks_spans = std::string_view(wish) == "1";
  if (!settings.marks_spans) complain("FATHOM_PTWRITE", wish, "is neither '1' nor '0', and is ignored");
}

// An empty FATHOM_AGENT_SOCKET means that no agent is wanted.
void choose_wanted_socket(const char* path) {
  static char wanted[sizeof(sockaddr_un::sun_path)];  // longer ones cannot be connected to
  if (std::string_view(path).size() >= sizeof wanted) {
    complain("FATHOM_AGENT_SOCKET", path, "is longer than 107 bytes; no agent is looked for");
  } else if (*path != '\0') {
    settings.socket_paths[0] = strcpy(wanted, path);
  }
}

void choose_sockets() {
  static char runtime[sizeof(sockaddr_un::sun_path)];
  if (const char* path = secure_getenv("FATHOM_AGENT_SOCKET")) return choose_wanted_socket(path);
  settings.socket_paths[0] = "/run/fathom/agent.sock";
  const char* directory = secure_getenv("XDG_RUNTIME_DIR");
  constexpr std::string_view kName = "/fathom/agent.sock";
  // The specification of that variable: a relative path is to be ignored.
  if (directory == nullptr || *directory != '/' || std::string_view(directory).size() + kName.size() >= sizeof runtime)
    return;
  strcat(strcpy(runtime, directory), kName.data());
  settings.socket_paths[1] = runtime;
}

void use_wiped_page() {
  void* page = mmap(nullptr, pool::kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return;
  if (madvise(page, pool::kPageBytes, MADV_WIPEONFORK) == 0) {
    live_page = static_cast<Live*>(page);
  } else {
    munmap(page, pool::kPageBytes);
  }
}

// Threads, fork handlers and thread-local storage lead here: the code must not go, even if a plugin that contains it is
// closed.
void stay_loaded() {
  Dl_info here;
  if (dladdr == nullptr || dlopen == nullptr || dladdr(reinterpret_cast<void*>(&set_up), &here) == 0) return;
  dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

enum Progress : uint32_t { kNotYet, kUnderWay, kDone };
constinit std::atomic<uint32_t> progress{kNotYet};

void set_up_once() {
  use_wiped_page();
  choose_pool_size();
  choose_sockets();
  choose_detail();
  choose_tracepoints();
  choose_marks();
  settings.tsc = choose_tsc();
  gather_resource();
  prepare_for_forks();
  prepare_for_thread_ends();
  stay_loaded();
}

__attribute__((constructor(101))) void when_loaded() {
  set_up();
}

}  // namespace

void set_up() {
  uint32_t seen = progress.load(std::memory_order_acquire);
  if (seen == kDone) return;
  const SignalsBlocked blocked;
  if (seen == kNotYet && progress.compare_exchange_strong(seen, kUnderWay, std::memory_order_acq_rel)) {
    set_up_once();
    progress.store(kDone, std::memory_order_release);
  }
  // Only constructors that start threads before ours has run can meet here.
  while (progress.load(std::memory_order_acquire) != kDone) sched_yield();
}

}  // namespace fathom::client
