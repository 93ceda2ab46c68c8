#include "snapshot/record/step/cpu_binding.h"

namespace fathom::snapshot::step {
namespace {

cpu_set_t only(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  return set;
}

// One that both may use; the one where we are, if possible; -1: none.
int common_cpu(const cpu_set_t& ours, const cpu_set_t& theirs) {
  cpu_set_t both;
  CPU_AND(&both, &ours, &theirs);
  const int here = ::sched_getcpu();
  if (here >= 0 && CPU_ISSET(here, &both)) return here;
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (CPU_ISSET(cpu, &both)) return cpu;
  }
  return -1;
}

}  // namespace

CpuBinding::CpuBinding() {
  if (::sched_getaffinity(0, sizeof tracers_, &tracers_) != 0) CPU_ZERO(&tracers_);
}

CpuBinding::~CpuBinding() {
  if (bound_) ::sched_setaffinity(0, sizeof tracers_, &tracers_);
}

void CpuBinding::pin(pid_t tid, const cpu_set_t& allowed) {
  if (!bound_) {
    cpu_ = common_cpu(tracers_, allowed);
    if (cpu_ < 0) return;
    const cpu_set_t here = only(cpu_);
    bound_ = ::sched_setaffinity(0, sizeof here, &here) == 0;
  }
  const cpu_set_t here = only(cpu_);
  if (bound_ && CPU_ISSET(cpu_, &allowed)) ::sched_setaffinity(tid, sizeof here, &here);
}

void CpuBinding::bind(pid_t tid) {
  if (own_.contains(tid)) return;
  cpu_set_t allowed;
  if (::sched_getaffinity(tid, sizeof allowed, &allowed) != 0) return;
  own_[tid] = allowed;
  pin(tid, allowed);
}

void CpuBinding::inherit(pid_t tid, pid_t maker) {
  if (const auto at = own_.find(maker); at != own_.end()) own_[tid] = at->second;
}

void CpuBinding::release(pid_t tid) {
  const auto at = own_.find(tid);
  if (at == own_.end()) return;
  ::sched_setaffinity(tid, sizeof at->second, &at->second);
  own_.erase(at);
}

void CpuBinding::changed(pid_t tid) {
  if (own_.erase(tid) != 0) bind(tid);
}

const cpu_set_t* CpuBinding::own(pid_t tid) const {
  const auto at = own_.find(tid);
  return at == own_.end() ? nullptr : &at->second;
}

}  // namespace fathom::snapshot::step
