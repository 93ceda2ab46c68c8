// CpuBinding: the tracer and who it steps on one CPU, where a stop costs a quarter of what it costs between two.
//
// Purpose: threads are bound while they are stepped, and get back what they had. They do not see it: what they ask for
// their affinity is answered with what they would have without us (answer()). Thread safety: none; one owner. Errors:
// a thread that cannot be bound is stepped more slowly.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <map>

namespace fathom::snapshot::step {

class CpuBinding {
 public:
  CpuBinding();
  ~CpuBinding();
  CpuBinding(const CpuBinding&) = delete;
  CpuBinding& operator=(const CpuBinding&) = delete;

  void bind(pid_t tid);
  // A thread that a bound one made is bound by birth.
  void inherit(pid_t tid, pid_t maker);
  void release(pid_t tid);
  void gone(pid_t tid) { own_.erase(tid); }
  // The thread has set an affinity itself: that is its own from now on.
  void changed(pid_t tid);
  // What `tid` would have without us; nullptr: what it has.
  const cpu_set_t* own(pid_t tid) const;

 private:
  void pin(pid_t tid, const cpu_set_t& allowed);

  std::map<pid_t, cpu_set_t> own_;
  cpu_set_t tracers_;
  bool bound_ = false;  // this thread, to cpu_
  int cpu_ = 0;
};

}  // namespace fathom::snapshot::step
