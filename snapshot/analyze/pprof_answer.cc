#include "snapshot/analyze/pprof_answer.h"

#include <unordered_map>
#include <utility>

#include "base/protobuf_writer.h"
#include "net/gzip.h"
#include "snapshot/analyze/answer_head.h"

namespace fathom::snapshot {

namespace {

// Of github.com/google/pprof's profile.proto.
enum ProfileField : uint32_t {
  kSampleType = 1,
  kSample = 2,
  kLocation = 4,
  kFunction = 5,
  kString = 6,
  kTimeNanos = 9,
  kComment = 13,
  kDefaultSampleType = 14
};

class Profile {
 public:
  Profile(const TraceTime& time, const FunctionLines& lines) : time_(time), lines_(lines) {
    text("");
    type("calls", "count");
    type("instructions", "count");
    type("time", std::string(time.is_nano() ? "nanoseconds" : "ticks"));
    type("paused", std::string(time.is_nano() ? "nanoseconds" : "ticks"));
  }

  void add(const NamedCalls& calls, size_t number) {
    const CallRow& row = calls.rows[number];
    const CallStats& stats = row.self;
    if (stats.calls + stats.instructions + stats.ticks + stats.pause_ticks == 0 || row.function == nullptr) return;
    std::vector<uint64_t> locations;
    size_t at = number;
    for (; calls.rows[at].function != nullptr; at = calls.rows[at].parent)
      locations.push_back(location(calls.rows[at]));
    const uint64_t values[] = {stats.calls, stats.instructions, time_.duration(stats.ticks),
                               time_.duration(stats.pause_ticks)};
    std::string label, sample;
    WireAppender(label).varint_field(1, text("thread")).varint_field(2, text(calls.rows[at].name));
    WireAppender(sample).packed_field(1, locations).packed_field(2, values).bytes_field(3, label);
    WireAppender(out_).bytes_field(kSample, sample);
  }

  std::string finish(const PprofHead& head) {
    WireAppender writer(out_);
    for (const std::string& comment : head.comments) writer.varint_field(kComment, text(comment));
    writer.varint_field(kTimeNanos, static_cast<uint64_t>(head.taken_unix_nano));
    writer.varint_field(kDefaultSampleType, text("instructions"));
    for (const std::string& string : order_) writer.bytes_field(kString, string);
    return std::move(out_);
  }

 private:
  uint64_t text(const std::string& string) {
    auto [number, fresh] = texts_.try_emplace(string, order_.size());
    if (fresh) order_.push_back(string);
    return number->second;
  }

  void type(const std::string& name, const std::string& unit) {
    std::string type;
    WireAppender(type).varint_field(1, text(name)).varint_field(2, text(unit));
    WireAppender(out_).bytes_field(kSampleType, type);
  }

  // One for each name: its function's number is the same.
  uint64_t location(const CallRow& row) {
    auto [number, fresh] = functions_.try_emplace(row.name, functions_.size() + 1);
    if (fresh) write_function(row, number->second);
    return number->second;
  }

  void write_function(const CallRow& row, uint64_t id) {
    const SourceLine source = row.is_gap ? SourceLine() : lines_(*row.function);
    std::string function, line, location;
    WireAppender(function).varint_field(1, id).varint_field(2, text(row.name)).varint_field(3, text(row.name));
    if (source.line != 0) WireAppender(function).varint_field(4, text(source.file)).varint_field(5, source.line);
    WireAppender(line).varint_field(1, id).varint_field(2, source.line);
    WireAppender(location).varint_field(1, id);
    if (!row.is_gap) {
      WireAppender(location).varint_field(3, row.function->entry != 0 ? row.function->entry : row.function->begin);
    }
    WireAppender(location).bytes_field(4, line);
    WireAppender(out_).bytes_field(kFunction, function).bytes_field(kLocation, location);
  }

  const TraceTime& time_;
  const FunctionLines& lines_;
  std::string out_;
  std::unordered_map<std::string, uint64_t> texts_;
  std::vector<std::string> order_;
  std::unordered_map<std::string, uint64_t> functions_;
};

}  // namespace

std::string pprof_profile(const NamedCalls& calls, const TraceTime& time, const FunctionLines& lines,
                          const PprofHead& head) {
  Profile profile(time, lines);
  for (size_t i = 0; i < calls.rows.size(); ++i) profile.add(calls, i);
  return profile.finish(head);
}

Result<> answer_pprof(const SnapshotDirectory& directory, const Question& question, const Output& output) {
  auto decoded = decode_calls(directory, question.id, question);
  if (!decoded) return decoded.error();
  const FunctionLines lines = [&](const CallFunction& function) {
    const uint64_t at = function.entry != 0 ? function.entry : function.begin;
    return decoded->context->names().own_line(function.pid, function.tsc, at).value_or(SourceLine());
  };
  PprofHead head;
  head.comments = {answer_head(decoded->snapshot(), decoded->summary)};
  head.taken_unix_nano = decoded->snapshot().taken_unix_nano;
  output(net::gzip(pprof_profile(decoded->named(true), decoded->time(), lines, head)));
  return {};
}

}  // namespace fathom::snapshot
