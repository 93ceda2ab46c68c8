#include "snapshot/analyze/pprof_answer.h"

#include <unordered_map>
#include <utility>

#include "net/gzip.h"
#include "snapshot/analyze/answer_head.h"
#include "snapshot/analyze/proto_writer.h"

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
    ProtoWriter(label).number(1, text("thread")).number(2, text(calls.rows[at].name));
    ProtoWriter(sample).packed(1, locations).packed(2, values).bytes(3, label);
    ProtoWriter(out_).bytes(kSample, sample);
  }

  std::string finish(const PprofHead& head) {
    ProtoWriter writer(out_);
    for (const std::string& comment : head.comments) writer.number(kComment, text(comment));
    writer.number(kTimeNanos, static_cast<uint64_t>(head.taken_unix_nano));
    writer.number(kDefaultSampleType, text("instructions"));
    for (const std::string& string : order_) writer.bytes(kString, string);
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
    ProtoWriter(type).number(1, text(name)).number(2, text(unit));
    ProtoWriter(out_).bytes(kSampleType, type);
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
    ProtoWriter(function).number(1, id).number(2, text(row.name)).number(3, text(row.name));
    if (source.line != 0) ProtoWriter(function).number(4, text(source.file)).number(5, source.line);
    ProtoWriter(line).number(1, id).number(2, source.line);
    ProtoWriter(location).number(1, id);
    if (!row.is_gap) {
      ProtoWriter(location).number(3, row.function->entry != 0 ? row.function->entry : row.function->begin);
    }
    ProtoWriter(location).bytes(4, line);
    ProtoWriter(out_).bytes(kFunction, function).bytes(kLocation, location);
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
