#include "snapshot/analyze/perfetto_answer.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/protobuf_writer.h"
#include "snapshot/analyze/answer_head.h"
#include "snapshot/decode/slices.h"

namespace fathom::snapshot {

namespace {

constexpr uint64_t kMostCalls = 1'000'000;
constexpr uint64_t kSequence = 1;
constexpr uint64_t kMonotonic = 3;

// Numbers of proto/perfetto/trace.proto, which is the server's.
enum PacketField : uint32_t { kClockSnapshot = 6, kTimestamp = 8, kSequenceId = 10, kTrackEvent = 11, kTrack = 60 };
enum EventType : uint64_t { kBegin = 1, kEnd = 2, kInstant = 3 };

class PerfettoWriter {
 public:
  PerfettoWriter(const DecodedCalls& calls, AnswerWriter& out) : calls_(calls), out_(out) {}

  void write() {
    write_clock();
    std::map<int32_t, uint64_t> processes;
    for (const ThreadCalls& thread : calls_.stacks->threads()) {
      auto [track, fresh] = processes.try_emplace(thread.key.pid, 0);
      if (fresh) track->second = write_process(thread.key.pid);
      write_thread(thread);
    }
    for (const auto& [pid, track] : processes) write_facts(track);
  }

 private:
  uint64_t instant(uint64_t tsc) const {
    return calls_.snapshot().timing.conversion_zero_nano + calls_.time().duration(tsc);
  }

  void packet(uint32_t field, std::string_view message, const uint64_t* tsc) {
    packet_.clear();
    if (tsc != nullptr) WireAppender(packet_).varint_field(kTimestamp, instant(*tsc));
    WireAppender(packet_).varint_field(kSequenceId, kSequence).bytes_field(field, message);
    WireAppender(out_.buffer()).bytes_field(1, packet_);
    out_.written();
  }

  void write_clock() {
    std::string clock, snapshot;
    WireAppender(clock).varint_field(1, kMonotonic).varint_field(2, instant(calls_.summary.first_tsc));
    WireAppender(snapshot).bytes_field(1, clock).varint_field(2, kMonotonic);
    packet(kClockSnapshot, snapshot, &calls_.summary.first_tsc);
  }

  uint64_t write_process(int32_t pid) {
    const Snapshot& snapshot = calls_.snapshot();
    std::string process, track;
    WireAppender(process).varint_field(1, static_cast<uint64_t>(pid));
    WireAppender(process).bytes_field(6, printable(snapshot.command) + " (" + engine_text(snapshot) + ")");
    WireAppender(track).varint_field(1, next_track_).bytes_field(3, process);
    packet(kTrack, track, nullptr);
    return next_track_++;
  }

  void write_thread(const ThreadCalls& calls) {
    const uint64_t track_number = next_track_++;
    std::string thread, track;
    WireAppender(thread)
        .varint_field(1, static_cast<uint64_t>(calls.key.pid))
        .varint_field(2, static_cast<uint64_t>(calls.key.tid));
    WireAppender(thread).bytes_field(5, printable(calls_.context->thread_name(calls.key.tid)));
    WireAppender(track).varint_field(1, track_number).bytes_field(4, thread);
    packet(kTrack, track, nullptr);
    for (const ThreadSlice& slice : balanced_slices(*calls.slices, calls_.summary.last_tsc)) {
      event(track_number, slice.tsc, slice.function == nullptr ? kEnd : kBegin,
            slice.function == nullptr ? "" : name(slice.function));
    }
    dropped_ += calls.slices->dropped / 2;
  }

  void event(uint64_t track, uint64_t tsc, EventType type, std::string_view name) {
    event_.clear();
    WireAppender(event_).varint_field(9, type).varint_field(11, track);
    if (type == kBegin) WireAppender(event_).bytes_field(22, "call").bytes_field(23, name);
    packet(kTrackEvent, event_, &tsc);
  }

  // An instant that says what all answers say.
  void write_facts(uint64_t track) {
    event_.clear();
    WireAppender(event_)
        .varint_field(9, kInstant)
        .varint_field(11, track)
        .bytes_field(22, "snapshot")
        .bytes_field(23, "snapshot");
    fact("engine", engine_text(calls_.snapshot()));
    fact("instructions", group_digits(calls_.summary.instructions));
    fact("gaps", gaps_text(calls_.summary));
    fact("time_unit", calls_.time().unit());
    if (dropped_ > 0) fact("calls left out", group_digits(dropped_));
    packet(kTrackEvent, event_, &calls_.summary.first_tsc);
  }
  void fact(std::string_view name, std::string_view value) {
    std::string annotation;
    WireAppender(annotation).bytes_field(10, name).bytes_field(6, value);
    WireAppender(event_).bytes_field(4, annotation);
  }

  const std::string& name(const CallFunction* function) {
    auto [name, fresh] = names_.try_emplace(function);
    if (fresh) name->second = printable(calls_.name(*function));
    return name->second;
  }

  const DecodedCalls& calls_;
  AnswerWriter& out_;
  std::string packet_, event_;
  std::unordered_map<const CallFunction*, std::string> names_;
  uint64_t next_track_ = 1;
  uint64_t dropped_ = 0;
};

}  // namespace

std::vector<ThreadSlice> balanced_slices(const Slices& slices, uint64_t last_tsc) {
  std::vector<ThreadSlice> balanced;
  balance_slices(
      slices,
      [&](size_t, uint64_t tsc, const CallFunction* function, bool) {
        balanced.push_back({tsc, function});
      },
      [&](size_t event) {
        balanced.push_back({event < slices.events.size() ? slices.events[event].tsc : last_tsc, nullptr});
      });
  return balanced;
}

Result<> answer_perfetto(const SnapshotDirectory& directory, const Question& question, const Output& output) {
  CallOptions options;
  options.most_slices = 2 * (question.limit == 0 ? kMostCalls : std::min(question.limit, kMostCalls * 10));
  auto decoded = decode_calls(directory, question.id, question, options);
  if (!decoded) return decoded.error();
  AnswerWriter out(output);
  PerfettoWriter(*decoded, out).write();
  out.flush();
  return {};
}

}  // namespace fathom::snapshot
