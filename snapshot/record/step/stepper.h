// Stepper: holds a command and all its threads by ptrace, steps those that are in a window, and writes what they did.
//
// Purpose: the software stand-in for Intel PT, for machines without it: the same packets, some hundred to thousand
// times slower. A thread is stepped instruction by instruction; system calls, signals, exec, new threads and processes
// are told by the kernel's own stops. Critical sections of rseq are run over and counted as gaps. When the last window
// has ended, or enough steps were made, everybody is let go and runs at full speed. Thread safety: none; the thread
// that launched the command. Ownership: `recording`, `trigger` and `observer` outlive it. Errors: a thread that is
// killed meanwhile simply ends. Source of the idea: ptrace(2), and the stepping debuggers.
#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "snapshot/record/step/cpu_binding.h"
#include "snapshot/record/step/recording.h"
#include "snapshot/record/step/step_thread.h"
#include "snapshot/record/step/step_trigger.h"

namespace fathom::snapshot::step {

struct StepLimits {
  uint64_t most_steps = 1'000'000;
  uint64_t windows = 1;     // so many, then everybody is let go
  bool all_threads = true;  // of the process, and those that it makes; false: the one in which the window began alone
};

struct StepDeath {
  int signal = 0;
  pid_t tid = 0;
  std::string place;  // "bad(int*)+0x4", or an address
};

// Told each instruction as it is recorded.
using StepObserver = std::function<void(pid_t tid, uint64_t ip)>;

class Stepper {
 public:
  Stepper(Recording& recording, StepTrigger& trigger, const StepLimits& limits, StepObserver observer = {});
  ~Stepper();

  // From launch_seized() until nobody is held any more; then wait_status(), or the command goes on.
  void run(pid_t command);
  // From a signal handler too: windows end as soon as may be.
  void stop() { stopping_.store(true, std::memory_order_relaxed); }

  // The command was executed.
  bool started() const { return started_; }
  // The command's, when it ended while it was held.
  std::optional<int> wait_status() const { return wait_status_; }
  // A signal that killed a stepped process, the first one; and the place of the instruction that did not run.
  const std::optional<StepDeath>& death() const { return death_; }
  uint64_t instructions() const { return instructions_; }
  uint64_t gaps() const { return gaps_; }
  uint64_t windows() const { return windows_begun_; }
  // Of the function that windows begin with, as recorded: of recursion and of other threads, too.
  uint64_t calls() const { return calls_; }
  // Calls, or spans, that were recorded from their beginning and were still running when recording ended.
  uint64_t cut_off() const { return cut_off_; }
  bool reached_limit() const { return steps_left_ == 0; }
  // Ticks that recorded threads spent outside of system calls.
  uint64_t stepped_ticks() const { return stepped_ticks_; }

 private:
  // stepper.cc: events
  void on_event(pid_t tid, int status);
  void on_stop(StepThread& thread, int status);
  void on_ptrace_event(StepThread& thread, int event, int signal);
  bool on_interrupt(StepThread& thread, int signal);
  void on_tick();
  void resume(StepThread& thread);
  void resume_step(StepThread& thread);
  void drop_popped_flags(StepThread& thread);
  void arm(StepThread& thread);
  void release(StepThread& thread);
  void let_everybody_go();

  // step_traps.cc: the end of an instruction, and what else a trap may be
  void on_trap(StepThread& thread);
  void on_rare_trap(StepThread& thread, uint64_t ip);
  void stepped(StepThread& thread, uint64_t next);
  void record(StepThread& thread, const Instruction& instruction, uint64_t ip, uint64_t next, uint64_t tsc);
  void count_step();
  void look_at_what_ran(StepThread& thread, const Instruction& ran, uint64_t at);
  void go_to(StepThread& thread, uint64_t ip);
  void stayed(StepThread& thread, uint64_t ip, int code);
  void on_signal(StepThread& thread, int signal);
  void on_breakpoint(StepThread& thread);
  void settle_system_call(StepThread& thread, uint64_t ip);
  void hand_signal(StepThread& thread, int signal);
  void enter_handler(StepThread& thread, uint64_t ip);
  void hide_trap_flag(StepThread& thread);
  void hide_trap_flag_of_handler(StepThread& thread);
  static void clear_byte(StepThread& thread, uint64_t at, uint8_t bits);

  // system_calls.cc
  void begin_system_call(StepThread& thread);
  void about_to_wait(const StepThread& thread, user_regs_struct registers);
  void end_system_call(StepThread& thread, uint64_t ip);
  void record_call(StepThread& thread, uint64_t next, uint32_t flags = 0);
  void record_delaying_call(const StepThread& thread, const user_regs_struct& registers, uint64_t asked_tsc);
  void record_unfinished_call(const StepThread& thread);
  void add_call(const StepThread& thread, const SystemCall& call, uint32_t flags);
  void expect_restart(StepThread& thread, const user_regs_struct& registers);
  void follow_effects(StepThread& thread, const user_regs_struct& registers);
  void follow_maps(StepThread& thread, const user_regs_struct& registers);
  void answer_affinity(StepThread& thread, uint64_t result);

  // step_windows.cc
  void begin_window(StepThread& thread, const WindowReason& reason);
  void open_stream(StepThread& thread);
  void step_from_here(StepThread& thread);
  void begin_own_window(StepThread& thread, const WindowReason& reason);
  bool is_at_function(const StepThread& thread) const;
  void enter_function(StepThread& thread);
  void end_window(StepThread& thread);
  void close_windows(StepProcess& process);
  bool any_owner(const StepProcess& process) const;
  void stop_recording(StepThread& thread);
  void begin_stepping(StepProcess& process);
  void end_stepping(StepThread& thread);
  void record_process(StepProcess& process, uint64_t tsc);
  void record_name(const StepThread& thread, uint64_t tsc, uint32_t flags);
  void record_lock_wait(const StepThread& thread, const user_regs_struct& registers);
  Sideband row_of(const StepThread& thread, SidebandKind kind) const;
  void record_gap(StepThread& thread, const std::string& why, const std::string& loss);
  void add_gap(const StepThread& thread, const std::string& why, uint32_t flags);

  // step_births.cc
  StepThread& add_thread(pid_t tid, StepProcess& process);
  StepProcess& process_of(pid_t pid);
  void on_birth(StepThread& maker, pid_t tid);
  StepThread& on_exec(StepThread& first);
  void on_other_program(StepThread& thread);
  bool is_64_bit(const StepThread& thread) const;
  void leave_out(StepThread& thread);
  void on_end(pid_t tid, int status);
  void record_exit(const StepThread& thread, int status);

  // run_over.cc
  void look_for_section(StepThread& thread, uint64_t announced_at);
  bool begin_run_over(StepThread& thread);
  bool run_over_section(StepThread& thread);
  bool run_over_rounds(StepThread& thread);
  bool run_to(StepThread& thread, std::span<const uint64_t> addresses);
  void end_run_over(StepThread& thread, uint64_t ip);

  Recording& recording_;
  StepTrigger& trigger_;
  const StepLimits limits_;
  const StepObserver observer_;
  CpuBinding binding_;
  std::map<pid_t, std::unique_ptr<StepProcess>> processes_;
  std::map<pid_t, std::unique_ptr<StepThread>> threads_;
  StepThread* last_ = nullptr;
  std::map<pid_t, int> unborn_;  // stopped before their maker told of them
  pid_t command_ = 0;
  pid_t awaited_ = 0;  // interrupted for a window
  std::optional<int> wait_status_;
  std::optional<StepDeath> death_;
  uint64_t steps_left_;
  uint64_t instructions_ = 0;
  uint64_t gaps_ = 0;
  uint64_t windows_begun_ = 0;
  uint64_t windows_ended_ = 0;
  uint64_t calls_ = 0;
  uint64_t cut_off_ = 0;
  uint64_t stepped_ticks_ = 0;
  bool started_ = false;  // the command's own program
  bool ending_ = false;
  std::atomic<bool> stopping_{false};
};

}  // namespace fathom::snapshot::step
