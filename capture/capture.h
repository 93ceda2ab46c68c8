// Capture: what one process on one node did in a window of time, as plain values: the content of a capture.
//
// Purpose: the agent fills it from its flight recorders and encodes it (encode.h); the server decodes it (decode.h) and
// shows it. It knows nothing of pools or of the kernel's rings, so that servers need not know their versions. Thread
// safety: plain values. Ownership: of everything; texts are copies. Units: nanoseconds of the node's CLOCK_MONOTONIC;
// Anchor leads from there to the calendar. docs/formats/capture.md has the bytes.
#pragma once

#include <array>
#include <bit>
#include <cassert>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"

namespace fathom::capture {

struct SpanRef {
  TraceId trace_id;
  SpanId span_id;
  auto operator<=>(const SpanRef&) const = default;
};

// Both clocks of the node at one instant. Between two of one epoch times are interpolated; beyond an epoch's first and
// last the difference stays, and what lies between two epochs belongs to the earlier one.
struct Anchor {
  uint64_t monotonic_nano = 0;
  uint64_t unix_nano = 0;  // the node's own CLOCK_REALTIME as it was set when the capture was made, not corrected
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

// One value of an event; what it means is said by its field's type. Texts lie in their thread's `texts`, so that a
// capture of some hundred thousand events is a few large pieces of memory.
class Value {
 public:
  static constexpr uint64_t kMostTextBytes = (uint64_t{1} << 23) - 1;
  static constexpr uint64_t kMostTextOffset = (uint64_t{1} << 40) - 1;

  static Value of_integer(int64_t value) { return Value(static_cast<uint64_t>(value)); }
  static Value of_natural(uint64_t value) { return Value(value); }
  static Value of_real(double value) { return Value(std::bit_cast<uint64_t>(value)); }
  static Value of_truth(bool value) { return Value(value ? 1 : 0); }
  // `cut`: the text's end is missing.
  static Value of_text(uint64_t offset, uint64_t bytes, bool cut) {
    assert(offset <= kMostTextOffset && bytes <= kMostTextBytes);
    return Value(offset << 24 | bytes << 1 | (cut ? 1 : 0));
  }

  int64_t integer() const { return static_cast<int64_t>(bits_); }
  uint64_t natural() const { return bits_; }
  double real() const { return std::bit_cast<double>(bits_); }
  bool truth() const { return bits_ != 0; }
  uint64_t text_offset() const { return bits_ >> 24; }
  uint64_t text_bytes() const { return bits_ >> 1 & kMostTextBytes; }
  bool is_cut() const { return (bits_ & 1) != 0; }

 private:
  explicit Value(uint64_t bits) : bits_(bits) {}

  uint64_t bits_;
};

struct Event {
  uint64_t monotonic_nano = 0;
  uint32_t tracepoint = 0;   // index
  uint32_t spans = 0;        // index of `span_sets`: those that the thread served
  uint32_t first_value = 0;  // index of the thread's `values`
  uint16_t values = 0;       // as many as the tracepoint has fields, or fewer where the end was damaged
  bool spans_certain = true;
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
  kWoken = 3,            // it may run again: other_* said so; without ids an interrupt, other_name ran then
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
  std::vector<Value> values;               // of all events, each one's side by side; see values_of()
  std::string texts;                       // of all values; see text_of()
  std::vector<KernelEvent> kernel_events;  // by `monotonic_nano`

  std::span<const Value> values_of(const Event& event) const {
    return std::span(values).subspan(event.first_value, event.values);
  }
  std::string_view text_of(Value value) const {
    return std::string_view(texts).substr(value.text_offset(), value.text_bytes());
  }
  Value add_text(std::string_view bytes, bool cut = false);
  void add_event(Event event, std::span<const Value> its_values);
};

struct Capture {
  // The window that was asked for, and what of it is surely there: earlier events may have been overwritten.
  uint64_t begin_nano = 0;
  uint64_t end_nano = 0;
  uint64_t events_complete_from_nano = 0;
  uint64_t kernel_complete_from_nano = 0;  // 0: nothing of the kernel was recorded; `kernel_missing` says why
  std::string kernel_missing;
  uint64_t trigger_nano = 0;  // when the agent knew, and had copied what would not wait
  uint32_t pid = 0;           // as the node sees it
  std::string service;
  std::string reason;  // for people: "POST /checkout took 812 ms, its threshold is 250 ms"
  bool ended = false;  // the process was over when it was read
  std::vector<Anchor> anchors;
  std::vector<Tracepoint> tracepoints;
  std::vector<std::vector<SpanRef>> span_sets{1};  // the first is empty
  std::vector<Thread> threads;                     // by tid
  std::vector<std::pair<std::string, uint64_t>> losses;
};

// Whether they say the same, wherever in memory the values of their events lie. Reals are compared by their bits.
bool same(const Capture& a, const Capture& b);

// When an instant was, by the anchors: of one of `monotonic_nano`, in the node's own CLOCK_REALTIME. Without anchors 0.
uint64_t unix_nano_at(const Capture& capture, uint64_t monotonic_nano);
// Whether a clock jumped, or may have, between the window's begin and its end: times before and after do not belong
// together.
bool crosses_clock_jump(const Capture& capture);

}  // namespace fathom::capture
