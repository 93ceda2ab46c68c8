#include "base/thread_priority.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace fathom {

namespace {

constexpr int kIntakeNice = 5;
constexpr int kBackgroundNice = 10;

// Once per thread: a thread keeps the first role that it takes.
void lower_priority(int nice) {
  thread_local bool done = false;
  if (done) return;
  done = true;
  [[maybe_unused]] int result = ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), nice);
}

}  // namespace

void yield_to_questions() {
  lower_priority(kIntakeNice);
}

void yield_to_requests() {
  lower_priority(kBackgroundNice);
}

}  // namespace fathom
