// A small program that ran: snapshot/symbols/testdata/sample.elf, linked to code of its own, recorded by StreamBuilder.
//
// plain() calls shop::handle() through its linkage table, which calls shop::helper(), both call outside(); that
// disables interrupts (as a kernel would), makes a system call, and enables them by popping flags. Time: two ticks for
// an instruction, a tick is half a nanosecond.
#pragma once

#include <string>

#include "snapshot/analyze/question.h"
#include "snapshot/decode/testing/decoded.h"
#include "snapshot/decode/testing/stream_builder.h"

namespace fathom::snapshot {

inline constexpr uint64_t kSampleBase = 0x7f0000000000;
inline constexpr uint64_t kOutside = 0x7f0000010000;
inline constexpr uint64_t kSignalHandler = 0x7f0000020000;
inline constexpr uint64_t kMarked = 0x7f0000030000;
inline constexpr uint64_t kInlined = 0x7f0000040000;
inline constexpr int32_t kSamplePid = 42;

class SampleRun {
 public:
  explicit SampleRun(StreamOptions options = {.cyc = true});

  // plain() once: 48 instructions, two system calls.
  void run_plain();
  // A PTWRITE of `value` and another instruction.
  void run_marked(uint64_t value);
  // Runs shop::count() of snapshot/symbols/testdata/inlined.elf until the call in its inlined guard returns: 15
  // instructions.
  void run_inlined();
  // The system call of the next outside() comes back in a signal's handler, which returns to it.
  void interrupt_next_call() { interrupted_ = true; }
  void pass(uint64_t ticks) { builder_.pass(ticks); }
  StreamBuilder& builder() { return builder_; }
  Snapshot& snapshot() { return snapshot_; }
  uint64_t instructions() const { return builder_.executed().size(); }

  // Writes what ran so far; then questions may be asked.
  void finish();
  Result<> ask(Question question, std::string& text) const;
  std::string answer_to(Question question) const;  // fails the test where there is none
  const SnapshotDirectory& directory() const { return place_.directory(); }

 private:
  void plain(uint64_t ip, uint8_t size) { builder_.step({ip, size, Op::kPlain, 0}); }
  void call(uint64_t ip, uint64_t target) { builder_.step({ip, 5, Op::kCall, target}); }
  void jump_through(uint64_t ip, uint8_t size, uint64_t to) {
    builder_.step_indirect({ip, size, Op::kIndirectJump, 0}, to);
  }
  void ret(uint64_t ip, uint64_t to) { builder_.step_indirect({ip, 1, Op::kReturn, 0}, to); }
  void add_image(const std::string& file, uint64_t address);
  void run_outside(uint64_t back);
  void run_code_outside(uint64_t back);
  void run_call(uint64_t ip);
  void run_helper(uint64_t back);
  void run_handle(uint64_t back);
  void add_images();

  StreamBuilder builder_;
  SnapshotPlace place_;
  Snapshot snapshot_;
  SnapshotId id_;
  bool interrupted_ = false;
  bool marked_ = false;
  bool has_inlined_ = false;
};

// Compares with testdata/NAME; with FATHOM_WRITE_GOLDEN=DIRECTORY, writes DIRECTORY/NAME instead.
void expect_golden(const std::string& name, const std::string& text);

}  // namespace fathom::snapshot
