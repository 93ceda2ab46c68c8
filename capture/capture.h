// Capture: what one process on one node did in a window of time, as plain values: the content of a capture.
//
// Purpose: the agent fills it from its flight recorders and encodes it (encode.h); the server decodes it (decode.h) and
// shows it. It knows nothing of pools or of the kernel's rings, so that servers need not know their versions. Thread
// safety: plain values. Ownership: of everything; texts are copies. Units: nanoseconds of the node's CLOCK_MONOTONIC;
// Anchor leads from there to the calendar. docs/formats/capture.md has the bytes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/ids.h"

namespace fathom::capture {

struct SpanRef {
  TraceId trace_id;
  SpanId span_id;
  auto operator<=>(const SpanRef&) const = default;
};

// Both clocks of the node at one instant. Between two of one epoch times are interpolated; beyond the first and the
// last the difference stays.
struct Anchor {
  uint64_t monotonic_nano = 0;
  uint64_t unix_nano = 0;  // the node's own CLOCK_REALTIME, not corrected
  uint32_t epoch = 0;      // counts up when a clock jumped (the host slept, or was moved)
  bool operator==(const Anchor&) const = default;
};

enum class FieldType : uint8_t { kInteger = 1, kNatural, kReal, kTruth, kText, kBytes };

struct Field {
  std::string key;
  FieldType type = FieldType::kInteger;
  bool operator==(const Field&) const = default;
};

// A place in the program's code.
struct Tracepoint {
  std::string name;
  std::string file;
  uint32_t line = 0;
  std::vector<Field> fields;
  bool operator==(const Tracepoint&) const = default;
};

struct Text {
  std::string bytes;
  bool cut = false;  // its end is missing
  bool operator==(const Text&) const = default;
};
// In the order of FieldType; kText and kBytes are both Text.
using Value = std::variant<int64_t, uint64_t, double, bool, Text>;

struct Event {
  uint64_t monotonic_nano = 0;
  uint32_t tracepoint = 0;  // index
  uint32_t spans = 0;       // index of `span_sets`: those that the thread served
  bool spans_certain = true;
  std::vector<Value> values;  // as the tracepoint's fields, or fewer where the end was damaged
  bool operator==(const Event&) const = default;
};

// A span that was not over when the capture was made.
struct OpenSpan {
  SpanRef span;
  uint64_t start_nano = 0;
  uint8_t kind = 0;  // OTLP's numbers
  std::string name;
  bool operator==(const OpenSpan&) const = default;
};

enum class KernelEventKind : uint8_t {
  kSwitchedOut = 1,      // the thread left the processor; `reason`, other_* came
  kSwitchedIn = 2,       // it came; other_* left
  kWoken = 3,            // it may run again: other_* said so
  kSyscall = 4,          // [monotonic_nano, end_nano]; number, result, arguments
  kSyscallUnderWay = 5,  // had not ended: end_nano is when it was looked at
  kUserFault = 6,        // address, instruction, fault
  kKernelFault = 7,
  kThreadStart = 8,
  kProcessStart = 9,
  kThreadExit = 10,
  kExec = 11,
  kRename = 12,
};
enum class SwitchReason : uint8_t { kPreempted, kSleeps, kUninterruptible, kStopped, kEnded };

struct KernelEvent {
  KernelEventKind kind = KernelEventKind::kSwitchedOut;
  SwitchReason reason = SwitchReason::kPreempted;
  uint16_t cpu = 0;
  uint64_t monotonic_nano = 0;  // of a system call: its begin; 0: before what was recorded
  uint64_t end_nano = 0;        // of a system call
  int32_t other_pid = 0;        // 0 of a switch: nothing ran
  int32_t other_tid = 0;
  std::string other_name;
  int32_t syscall = 0;
  int64_t result = 0;  // what it returned, or -errno
  std::array<uint64_t, 2> arguments{};
  uint64_t address = 0;
  uint64_t instruction = 0;
  uint32_t fault = 0;  // 1: protection, 2: write, 16: execution
  bool operator==(const KernelEvent&) const = default;
};

struct Thread {
  uint32_t tid = 0;  // as the node sees it
  std::string name;
  std::vector<OpenSpan> open;              // the outermost first
  std::vector<Event> events;               // by time
  std::vector<KernelEvent> kernel_events;  // by time
  bool operator==(const Thread&) const = default;
};

struct Capture {
  // The window that was asked for, and what of it is surely there: earlier events may have been overwritten.
  uint64_t begin_nano = 0;
  uint64_t end_nano = 0;
  uint64_t events_complete_from_nano = 0;
  uint64_t kernel_complete_from_nano = 0;  // 0: nothing of the kernel was recorded; `kernel_missing` says why
  std::string kernel_missing;
  uint64_t trigger_nano = 0;  // when it was triggered
  uint32_t pid = 0;           // as the node sees it
  std::string service;
  std::string reason;  // for people: "POST /checkout took 812 ms, its threshold is 250 ms"
  bool ended = false;  // the process was over when it was read
  std::vector<Anchor> anchors;
  std::vector<Tracepoint> tracepoints;
  std::vector<std::vector<SpanRef>> span_sets;  // the first is empty
  std::vector<Thread> threads;                  // by tid
  std::vector<std::pair<std::string, uint64_t>> losses;
  bool operator==(const Capture&) const = default;
};

}  // namespace fathom::capture
