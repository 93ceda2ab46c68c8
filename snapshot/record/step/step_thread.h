// StepThread, StepProcess: what the stepper knows of who it steps.
//
// Thread safety: the tracer's alone. Ownership: the Stepper's; pointers between them live as long as it holds them.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "snapshot/record/step/address_space.h"
#include "snapshot/record/step/flow_writer.h"
#include "snapshot/record/step/instruction.h"

namespace fathom::snapshot::step {

// A restartable sequence: whoever is stopped in it begins anew.
struct CriticalSection {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t abort = 0;
  std::vector<uint64_t> exits;  // where else it may lead: direct branches out of it
  bool holds(uint64_t ip) const { return ip >= begin && ip < end; }
};

struct StepProcess {
  StepProcess(pid_t pid, Recording& recording) : pid(pid), space(pid, recording) {}

  pid_t pid;
  AddressSpace space;
  bool recorded = false;  // its maps are in the recording
  size_t stepped_threads = 0;
  uint64_t stepped_since_unix_nano = 0;  // while there are some
  std::vector<uint64_t> breakpoints;     // of its threads, while they run free; at most tracee::kBreakpoints
  bool awaits_libraries = false;         // the breakpoint is where its dynamic linker is done
  // By the instruction that announces the section to the kernel: from there on it must not be stopped.
  std::map<uint64_t, CriticalSection> sections;
};

enum class StepMode : uint8_t {
  kFree,  // runs at full speed
  kStepping,
  kRunningOver,  // runs to a breakpoint behind a critical section
};

// What the next stop may be instead of the end of one instruction.
enum StepExpects : uint8_t {
  kExpectCallEnd = 1,  // it is in a system call
  kExpectRestart = 2,  // the kernel will run the system call at `call.ip` again, unless a signal's handler comes first
  kExpectHandler = 4,  // a signal was handed to it
};

struct SystemCall {
  uint64_t ip = 0;
  uint64_t number = 0;
  std::array<uint64_t, 6> arguments{};
  uint64_t tsc = 0;
  bool native = true;  // by SYSCALL; otherwise numbers mean something else
};

struct StepThread {
  pid_t tid = 0;
  StepProcess* process = nullptr;
  StepMode mode = StepMode::kFree;
  bool stopped = false;
  bool armed = false;      // has breakpoints
  bool joins = false;      // stepped from its next stop on
  uint64_t asked_tsc = 0;  // when it was interrupted in order to join; 0: it was not
  bool leaves = false;     // not stepped from its next stop on
  uint8_t expects = 0;
  uint8_t watched_flags = 0;   // of an instruction that ran: something is to be looked at
  uint16_t watched_kinds = 0;  // the same, as bits by its kind
  int signal = 0;              // to hand to it when it goes on
  int handed_signal = 0;       // the last one that was, unless its handler ran
  uint64_t ip = 0;             // where it will go on
  Instruction instruction;     // there
  SystemCall call;
  std::unique_ptr<FlowWriter> flow;  // once it was stepped
  bool popped_flags = false;         // the kernel takes our trap flag for its own
  uint32_t handlers = 0;             // of signals, that it is in
  uint64_t rseq_area = 0;            // 0: none
  uint32_t rounds = 0;               // of a repeated instruction, so far
  bool unrecorded = false;           // what is run over
  uint64_t run_over_until_tsc = 0;
  bool under_way = false;    // what the trigger waits for (a call, a span) has begun in it, and not ended
  bool owns_window = false;  // and is one of those that were asked for
  // What a trigger keeps of its window.
  uint64_t window_word = 0;
  uint64_t window_address = 0;
  // For the slowdown.
  uint64_t window_tsc = 0;
  uint64_t in_calls_ticks = 0;
};

}  // namespace fathom::snapshot::step
