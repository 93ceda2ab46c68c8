// What is not stepped: critical sections of rseq, which a stop would begin anew for ever, and the rounds of a repeated
// instruction, which are one instruction to Intel PT. Both run to hardware breakpoints of the thread's own.
#include <linux/rseq.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <utility>

#include "snapshot/record/step/stepper.h"
#include "snapshot/record/step/tracee.h"

namespace fathom::snapshot::step {
namespace {

constexpr uint32_t kRoundsStepped = 3;
constexpr uint64_t kMostSectionBytes = 4096;
constexpr double kMostRunOverNano = 50e6;

template <typename T>
bool read_value(const AddressSpace& space, uint64_t address, T& value) {
  return space.read(address, {reinterpret_cast<uint8_t*>(&value), sizeof value}) == sizeof value;
}

bool is_direct_branch(const Instruction& instruction) {
  return instruction.kind == InstructionKind::kConditional || instruction.kind == InstructionKind::kJump;
}

// Where direct branches lead out of a section, but for its abort handler.
std::vector<uint64_t> exits_of(AddressSpace& space, const CriticalSection& section) {
  std::vector<uint64_t> exits;
  for (uint64_t ip = section.begin; section.holds(ip);) {
    const Instruction instruction = space.at(ip);
    if (instruction.length == 0) break;
    const uint64_t target = instruction.target(ip);
    const bool leaves = is_direct_branch(instruction) && !section.holds(target) && target != section.end &&
                        target != section.abort && std::ranges::find(exits, target) == exits.end();
    if (leaves) exits.push_back(target);
    ip = instruction.behind(ip);
  }
  return exits;
}

CriticalSection section_of(AddressSpace& space, const rseq_cs& about) {
  CriticalSection section;
  section.begin = about.start_ip;
  section.end = about.start_ip + std::min<uint64_t>(about.post_commit_offset, kMostSectionBytes);
  section.abort = about.abort_ip;
  section.exits = exits_of(space, section);
  return section;
}

}  // namespace

// The instruction that ran may have told the kernel of a section. If so, the thread was stopped in it, and goes on in
// its abort handler; the next time it comes here, we know.
void Stepper::look_for_section(StepThread& thread, uint64_t announced_at) {
  AddressSpace& space = thread.process->space;
  uint64_t address = 0;
  rseq_cs about{};
  if (!read_value(space, thread.rseq_area + offsetof(struct rseq, rseq_cs), address) || address == 0) return;
  if (!read_value(space, address, about)) return;
  const CriticalSection section = section_of(space, about);
  if (!section.holds(thread.ip)) return;
  thread.process->sections[announced_at] = section;
  thread.flow->interrupted(thread.ip, section.abort, read_tsc());
  go_to(thread, section.abort);
}

bool Stepper::begin_run_over(StepThread& thread) {
  if (thread.rounds >= kRoundsStepped) return run_over_rounds(thread);
  return !thread.process->sections.empty() && run_over_section(thread);
}

bool Stepper::run_to(StepThread& thread, std::span<const uint64_t> addresses) {
  if (!tracee::set_breakpoints(thread.tid, addresses)) return false;
  if (thread.popped_flags) tracee::clear_trap_flag(thread.tid);
  thread.mode = StepMode::kRunningOver;
  thread.armed = true;
  thread.stopped = false;
  return tracee::run(thread.tid, std::exchange(thread.signal, 0));
}

bool Stepper::run_over_rounds(StepThread& thread) {
  const std::array<uint64_t, 1> behind{thread.instruction.behind(thread.ip)};
  thread.rounds = 0;
  thread.unrecorded = false;
  thread.run_over_until_tsc = UINT64_MAX;  // it cannot go elsewhere
  return run_to(thread, behind);
}

bool Stepper::run_over_section(StepThread& thread) {
  const auto at = thread.process->sections.find(thread.ip);
  if (at == thread.process->sections.end()) return false;
  const CriticalSection& section = at->second;
  std::vector<uint64_t> ends{section.end, section.abort};
  for (const uint64_t exit : section.exits) {
    if (ends.size() < tracee::kBreakpoints) ends.push_back(exit);
  }
  thread.unrecorded = true;
  thread.run_over_until_tsc = read_tsc() + static_cast<uint64_t>(kMostRunOverNano * recording_.ticks_per_nano());
  record_gap(thread, "a critical section of rseq", "critical sections run over");
  return run_to(thread, ends);
}

void Stepper::end_run_over(StepThread& thread, uint64_t ip) {
  tracee::set_breakpoints(thread.tid, {});
  thread.armed = false;
  thread.mode = StepMode::kStepping;
  if (!thread.unrecorded && ip == thread.ip) return;  // a signal came between two rounds
  if (!thread.unrecorded) return stepped(thread, ip);
  thread.flow->resumes(read_tsc());
  go_to(thread, ip);
}

}  // namespace fathom::snapshot::step
