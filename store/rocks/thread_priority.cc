#include "store/rocks/thread_priority.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace fathom::store {

namespace {
constexpr int kBackgroundNice = 5;
}

void yield_to_requests() {
  thread_local bool done = false;
  if (done) return;
  done = true;
  [[maybe_unused]] int result = setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), kBackgroundNice);
}

}  // namespace fathom::store
