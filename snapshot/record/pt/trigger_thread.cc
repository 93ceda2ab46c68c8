#include "snapshot/record/pt/trigger_thread.h"

#include <sched.h>

#include "base/thread_priority.h"

namespace fathom::snapshot {

void interrupt_others() {
  sched_param lowest{};
  lowest.sched_priority = 1;
  if (::sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &lowest) != 0) go_first();
}

}  // namespace fathom::snapshot
