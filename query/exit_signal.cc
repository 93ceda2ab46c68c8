#include "query/exit_signal.h"

#include <sys/wait.h>

#include "snapshot/format/deadly_signal.h"

namespace fathom::query {

namespace {

// 0: none.
int signal_of(const capture::KernelEvent& event) {
  if (event.kind != capture::KernelEventKind::kThreadExit) return 0;
  const int status = static_cast<int>(event.result);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

}  // namespace

std::string exit_signal(const capture::Capture& content) {
  for (const capture::Thread& thread : content.threads) {
    for (const capture::KernelEvent& event : thread.kernel_events) {
      if (const int signal = signal_of(event); signal != 0) return snapshot::signal_name(signal);
    }
  }
  return "";
}

}  // namespace fathom::query
