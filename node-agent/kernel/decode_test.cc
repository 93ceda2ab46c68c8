#include "node-agent/kernel/decode.h"

#include <gtest/gtest.h>

#include <cstring>

#include "node-agent/kernel/event_text.h"

namespace fathom::agent::kernel {
namespace {

Record a_record(uint16_t kind, uint32_t detail = 0) {
  Record record{};
  record.monotonic_nano = 5'000;
  record.kind = kind;
  record.cpu = 3;
  record.detail = detail;
  record.pid = 100;
  record.tid = 101;
  return record;
}

Record a_pair(uint16_t kind, uint32_t detail, const char* name) {
  Record record = a_record(kind, detail);
  record.other.pid = 200;
  record.other.tid = 201;
  std::memcpy(record.other.name, name, strnlen(name, kNameBytes));
  return record;
}

std::string text_of(const Record& record) {
  std::optional<KernelEvent> event = decode_record(record);
  return event ? event_text(*event, 1'000) : "none";
}

TEST(DecodeRecord, SaysWhatHappened) {
  EXPECT_EQ(text_of(a_pair(kRecordSwitch, 1, "other")), "         4.000 us cpu3 100/101 sleeps, then 200/201 other");
  EXPECT_EQ(text_of(a_pair(kRecordWake, 0, "0123456789abcdef")),
            "         4.000 us cpu3 100/101 woken by 200/201 0123456789abcdef")
      << "a name without an end";
  EXPECT_EQ(text_of(a_pair(kRecordThreadStart, 0, "w")), "         4.000 us cpu3 100/101 thread w made by 201");
  EXPECT_EQ(text_of(a_pair(kRecordFork, 0, "w")), "         4.000 us cpu3 100/101 makes process 200");
  EXPECT_EQ(text_of(a_pair(kRecordExit, 256, "w")), "         4.000 us cpu3 100/101 thread w ends with status 256");
  EXPECT_EQ(text_of(a_pair(kRecordExec, 0, "sh")), "         4.000 us cpu3 100/101 executes sh");
  EXPECT_EQ(text_of(a_pair(kRecordRename, 0, "io")), "         4.000 us cpu3 100/101 is called io");
}

TEST(DecodeRecord, OfAnInterruptThereIsAtMostTheNameOfWhoRan) {
  Record record = a_pair(kRecordWake, kWakeByInterrupt, "cc1plus");
  EXPECT_EQ(text_of(record), "         4.000 us cpu3 100/101 woken by an interrupt (cc1plus ran then)");
  EXPECT_EQ(decode_record(record)->other_pid, 0);
  record.other.pid = record.other.tid = 0;
  EXPECT_EQ(text_of(record), "         4.000 us cpu3 100/101 woken by an interrupt") << "nobody ran";
}

TEST(DecodeRecord, SystemCalls) {
  Record record = a_record(kRecordSyscall, 39);
  record.syscall = {.start_nano = 3'000, .result = -4, .arguments = {1, 255}};
  EXPECT_EQ(text_of(record), "         4.000 us cpu3 100/101 system call 39(0x1, 0xff) = -4 took 2 us");
  record.syscall.start_nano = 0;
  EXPECT_EQ(text_of(record), "         4.000 us cpu3 100/101 system call 39 = -4 begun before");
}

TEST(DecodeRecord, PageFaults) {
  Record record = a_record(kRecordFault, kFaultWrite | kFaultProtection | 4);
  record.fault = {.address = 0x7000, .instruction = 0x400123};
  EXPECT_EQ(text_of(record), "         4.000 us cpu3 100/101 page fault: write 0x7000 at 0x400123 (protection)");
  record.detail = kFaultOfKernel;
  EXPECT_EQ(text_of(record), "         4.000 us cpu3 100/101 page fault of the kernel: read 0x7000 at 0x400123");
}

TEST(DecodeRecord, OfNoKindIsNothing) {
  EXPECT_EQ(text_of(a_record(0)), "none");
  EXPECT_EQ(text_of(a_record(kRecordRename + 1)), "none");
}

TEST(DecodeRecord, WhyAThreadLeft) {
  EXPECT_EQ(switch_reason(0), SwitchReason::kPreempted);
  EXPECT_EQ(switch_reason(kSwitchPreempted | 1), SwitchReason::kPreempted) << "it was about to sleep";
  EXPECT_EQ(switch_reason(1), SwitchReason::kSleeps);
  EXPECT_EQ(switch_reason(0x200), SwitchReason::kSleeps) << "and is being woken";
  EXPECT_EQ(switch_reason(2), SwitchReason::kUninterruptible);
  EXPECT_EQ(switch_reason(0x402), SwitchReason::kUninterruptible) << "idle";
  EXPECT_EQ(switch_reason(4), SwitchReason::kStopped);
  EXPECT_EQ(switch_reason(8), SwitchReason::kStopped);
  EXPECT_EQ(switch_reason(0x80), SwitchReason::kEnded);
  EXPECT_EQ(switch_reason(kSwitchPreempted | 0x20), SwitchReason::kEnded);
}

}  // namespace
}  // namespace fathom::agent::kernel
