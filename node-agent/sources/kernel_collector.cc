#include "node-agent/sources/kernel_collector.h"

#include <algorithm>
#include <unordered_map>

#include "node-agent/capture/by_time.h"

namespace fathom::agent {

namespace {

using capture::KernelEventKind;
using Kind = agent::KernelEventKind;

static_assert(static_cast<int>(agent::SwitchReason::kEnded) == static_cast<int>(capture::SwitchReason::kEnded));

KernelEventKind kind_of(Kind kind) {
  switch (kind) {
    case Kind::kSwitch:
      break;
    case Kind::kWake:
      return KernelEventKind::kWoken;
    case Kind::kSyscall:
      return KernelEventKind::kSyscall;
    case Kind::kSyscallUnderWay:
      return KernelEventKind::kSyscallUnderWay;
    case Kind::kUserFault:
      return KernelEventKind::kUserFault;
    case Kind::kKernelFault:
      return KernelEventKind::kKernelFault;
    case Kind::kThreadStart:
      return KernelEventKind::kThreadStart;
    case Kind::kProcessStart:
      return KernelEventKind::kProcessStart;
    case Kind::kThreadExit:
      return KernelEventKind::kThreadExit;
    case Kind::kExec:
      return KernelEventKind::kExec;
    case Kind::kRename:
      return KernelEventKind::kRename;
  }
  return KernelEventKind::kSwitchedOut;
}

bool is_call(const KernelEvent& event) {
  return event.kind == Kind::kSyscall || event.kind == Kind::kSyscallUnderWay;
}

// Itself, or who ran when an interrupt came; not what may be looked up by its number.
bool brings_its_name(const KernelEvent& event) {
  return (event.kind == Kind::kWake && event.other_tid == 0) || event.kind == Kind::kThreadStart ||
         event.kind == Kind::kThreadExit || event.kind == Kind::kExec || event.kind == Kind::kRename;
}

class KernelCollector {
 public:
  KernelCollector(uint32_t pid, ThreadTable& threads) : pid_(static_cast<int32_t>(pid)), threads_(threads) {}
  uint64_t collect(const KernelSnapshot& snapshot);

 private:
  void name_threads(const std::vector<ThreadName>& names);
  void add(const KernelEvent& event);
  void add_switch(const KernelEvent& event);
  void put(int32_t tid, capture::KernelEvent event);
  capture::KernelEvent converted(const KernelEvent& event) const;
  std::string name_of(int32_t tid, const std::string& otherwise) const;

  const int32_t pid_;
  ThreadTable& threads_;
  std::unordered_map<int32_t, const std::string*> names_;  // of all processes' threads
  uint64_t without_thread_ = 0;
};

void KernelCollector::name_threads(const std::vector<ThreadName>& names) {
  for (const ThreadName& thread : names) names_[thread.tid] = &thread.name;
}

std::string KernelCollector::name_of(int32_t tid, const std::string& otherwise) const {
  auto found = names_.find(tid);
  if (tid == 0) return {};
  return found == names_.end() ? otherwise : *found->second;
}

void KernelCollector::put(int32_t tid, capture::KernelEvent event) {
  capture::Thread* thread = threads_.of_node(static_cast<uint32_t>(tid));
  if (thread == nullptr) return void(++without_thread_);
  if (thread->name.empty()) thread->name = name_of(tid, {});
  thread->kernel_events.push_back(std::move(event));
}

capture::KernelEvent KernelCollector::converted(const KernelEvent& event) const {
  capture::KernelEvent out{.kind = kind_of(event.kind),
                           .reason = static_cast<capture::SwitchReason>(event.reason),
                           .cpu = event.cpu,
                           .monotonic_nano = is_call(event) ? event.start_nano : event.monotonic_nano,
                           .end_nano = is_call(event) ? event.monotonic_nano : 0,
                           .other_pid = event.other_pid,
                           .other_tid = event.other_tid,
                           .syscall = event.syscall,
                           .result = event.result,
                           .arguments = {event.arguments[0], event.arguments[1]},
                           .address = event.address,
                           .instruction = event.instruction,
                           .fault = event.fault};
  out.other_name = brings_its_name(event) ? event.name : name_of(event.other_tid, event.name);
  return out;
}

// The event's name is that of the one which was not chosen, or of who came.
void KernelCollector::add_switch(const KernelEvent& event) {
  capture::KernelEvent half = converted(event);
  if (event.pid == pid_) {
    half.kind = KernelEventKind::kSwitchedOut;
    half.other_name = name_of(event.other_tid, event.name);
    put(event.tid, half);
  }
  if (event.other_pid != pid_) return;
  half.kind = KernelEventKind::kSwitchedIn;
  half.reason = capture::SwitchReason::kPreempted;  // is the other one's
  half.other_pid = event.pid;
  half.other_tid = event.tid;
  half.other_name = name_of(event.tid, event.pid == pid_ ? std::string() : event.name);
  put(event.other_tid, std::move(half));
}

void KernelCollector::add(const KernelEvent& event) {
  if (event.kind == Kind::kSwitch) return add_switch(event);
  if (event.pid == pid_) put(event.tid, converted(event));
}

uint64_t KernelCollector::collect(const KernelSnapshot& snapshot) {
  name_threads(snapshot.threads);
  for (const KernelEvent& event : snapshot.events) add(event);
  for (capture::Thread& thread : threads_.all()) {
    if (thread.name.empty()) thread.name = name_of(static_cast<int32_t>(thread.tid), {});
    // System calls come by their ends, and go by their begins.
    sort_by_time(thread.kernel_events, [](const capture::KernelEvent& a, const capture::KernelEvent& b) {
      return a.monotonic_nano < b.monotonic_nano;
    });
  }
  return without_thread_;
}

}  // namespace

uint64_t collect_kernel_events(const KernelSnapshot& snapshot, uint32_t pid, ThreadTable& threads) {
  return KernelCollector(pid, threads).collect(snapshot);
}

}  // namespace fathom::agent
