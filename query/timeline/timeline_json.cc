// The document of a timeline (docs/api.md): times are offsets from its start, which is exact as a text.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "capture/shared_reason.h"
#include "net/json_writer.h"
#include "query/captures.h"
#include "query/exit_signal.h"
#include "query/snapshots/snapshot_queries.h"
#include "query/timeline/meter.h"
#include "query/timeline/process_services.h"
#include "query/timeline/recorded_time.h"
#include "query/timeline/syscall_names.h"
#include "query/timeline/timeline_query.h"

namespace fathom::query {

namespace {

using capture::FieldType;
using capture::KernelEvent;
using net::JsonWriter;

// A trace may have tens of thousands of spans, and the limit of items does not include them.
constexpr size_t kFewWaitSums = 3;
constexpr uint64_t kMostSpansWithMoreSums = 1'000;

class TimelineDocument {
 public:
  TimelineDocument(const Timeline& timeline, store::QueryBudget& budget)
      : timeline_(timeline), services_(timeline), meter_(budget) {}

  Result<std::string> write() {
    json_.begin_object();
    json_.member("trace_id", std::string_view(timeline_.trace_id.is_zero() ? "" : timeline_.trace_id.hex()));
    json_.member("start_time_unix_nano", std::string_view(std::to_string(timeline_.begin_unix_nano)));
    json_.member("duration_nano", timeline_.end_unix_nano - timeline_.begin_unix_nano);
    json_.member("complete", timeline_.complete);
    json_.member("truncated", timeline_.left_out > 0).member("left_out", timeline_.left_out);
    write_list("captures", timeline_.captures, [this](const auto& capture) { write_capture_of(capture); });
    if (timeline_.captures_left_out > 0) json_.member("captures_left_out", timeline_.captures_left_out);
    write_list("processes", timeline_.processes, [this](const auto& process) { write_process(process); });
    write_snapshots(json_, timeline_.snapshots);
    json_.end_object();
    out_ += "\n";
    if (!paid()) return meter_.result().error();
    return std::move(out_);
  }

 private:
  // What was written until now; false: no more may be. Then the document is never seen.
  bool paid() { return meter_.written(out_.size()); }

  void offset(uint64_t unix_nano, std::string_view name = "offset_nano") {
    json_.member(name, static_cast<int64_t>(unix_nano - timeline_.begin_unix_nano));
  }
  void member_if(std::string_view name, std::string_view text) {
    if (!text.empty()) json_.member(name, text);
  }
  void flag_if(std::string_view name, bool flag) {
    if (flag) json_.member(name, true);
  }

  void write_capture_of(const TimelineCapture& capture) {
    write_capture(json_.begin_object(), capture.stored);
    member_if("problem", capture.problem);
    if (capture.content) write_content(capture, *capture.content);
    json_.end_object();
  }

  void write_content(const TimelineCapture& capture, const capture::Capture& content) {
    json_.member("reason", std::string_view(capture::reason_of(content.reason, capture.stored.info.operation)));
    json_.member("process_ended", content.ended);
    member_if("exit_signal", exit_signal(content));
    offset(capture.unix_nano(content.begin_nano));
    json_.member("duration_nano", content.end_nano - content.begin_nano);
    offset(capture.unix_nano(content.trigger_nano), "trigger_offset_nano");
    offset(capture.unix_nano(content.events_complete_from_nano), "events_complete_from_offset_nano");
    if (content.kernel_complete_from_nano != 0) {
      offset(capture.unix_nano(content.kernel_complete_from_nano), "kernel_complete_from_offset_nano");
      json_.member("has_system_calls", has_system_calls(content));
    }
    member_if("kernel_missing", content.kernel_missing);
    flag_if("clock_unknown", !capture.clock);
    write_list("content_losses", content.losses, [this](const auto& loss) {
      json_.begin_object().member("name", std::string_view(loss.first)).member("count", loss.second).end_object();
    });
  }

  void write_process(const TimelineProcess& process) {
    process_ = &process;
    json_.begin_object().member("host_name", std::string_view(process.host_name));
    if (!process.node_id.is_zero()) json_.member("node_id", std::string_view(process.node_id.hex()));
    json_.member("service", std::string_view(process.service)).member("pid", process.pid);
    if (process.no_capture) write_no_capture(*process.no_capture);
    json_.key("captures").begin_array();
    for (size_t index : process.captures) json_.number(index);
    json_.end_array();
    const bool has_captures = !process.captures.empty();
    write_list("threads", process.threads, [&](const auto& thread) { write_thread(thread, has_captures); });
    write_spans(process.spans);
    json_.member("other_threads", process.other_threads).end_object();
  }

  void write_no_capture(const NoCapture& none) {
    json_.key("no_capture").begin_object().member("reason", none.reason);
    json_.member("explanation", std::string_view(none.explanation));
    member_if("node", none.node);
    if (none.trigger) json_.member("trigger", name_of(*none.trigger));
    if (none.is_partial) json_.member("partial", true);
    json_.end_object();
  }

  void write_thread(const TimelineThread& thread, bool has_captures) {
    json_.begin_object().member("tid", thread.tid).member("name", thread.name).member("of_trace", thread.of_trace);
    flag_if("not_captured", has_captures && !thread.is_captured);
    offset(thread.begin_unix_nano);
    json_.member("duration_nano", thread.end_unix_nano - thread.begin_unix_nano);
    write_totals(thread.totals, "");
    write_waits(thread.waits);
    if (thread.ended_waits_nano > 0) json_.member("ended_waits_nano", thread.ended_waits_nano);
    write_spans(thread.spans);
    write_list("events", thread.events, [this](const auto& event) { write_event(event); });
    write_list("states", thread.states, [this](const auto& state) { write_state(state.interval, state.in); });
    write_list("system_calls", thread.calls, [this](const auto& call) { write_call(call); });
    write_list("page_faults", thread.faults, [this](const auto& fault) { write_fault(fault); });
    json_.member("other_events", thread.other_events).member("left_out", thread.left_out);
    if (!thread.gaps.empty()) write_list("gaps", thread.gaps, [this](const auto& gap) { write_gap(gap); });
    json_.end_object();
  }

  void write_gap(const TimelineGap& gap) {
    json_.begin_object().member("items", gap.items).member("count", gap.count);
    offset(gap.begin_unix_nano);
    json_.member("duration_nano", gap.end_unix_nano - gap.begin_unix_nano).end_object();
  }

  template <typename Items, typename Write>
  void write_list(std::string_view name, const Items& items, Write write) {
    json_.key(name).begin_array();
    for (const auto& item : items) {
      write(item);
      if (!paid()) break;
    }
    json_.end_array();
  }

  void write_spans(const std::vector<TimelineSpan>& spans) {
    write_list("spans", spans, [this](const TimelineSpan& span) { write_span(span); });
  }

  void write_span(const TimelineSpan& span) {
    json_.begin_object();
    if (!span.trace_id.is_zero()) json_.member("trace_id", std::string_view(span.trace_id.hex()));
    json_.member("span_id", std::string_view(span.span_id.hex()));
    json_.member("parent_span_id", std::string_view(span.parent_span_id.is_zero() ? "" : span.parent_span_id.hex()));
    json_.member("service", span.service).member("operation", span.operation);
    json_.member("kind", store::span_kind_name(static_cast<store::SpanKind>(span.kind)));
    json_.member("status", store::status_code_name(span.status));
    offset(span.begin_unix_nano);
    json_.member("duration_nano", span.end_unix_nano - span.begin_unix_nano);
    flag_if("open", span.open);
    flag_if("thread_guessed", span.guessed_thread);
    if (span.end_tid != 0) json_.member("start_tid", span.start_tid).member("end_tid", span.end_tid);
    write_totals(span.totals, span.longest_in);
    write_span_waits(span.waits);
    json_.end_object();
  }

  // "states": how long each lasted, and the longest wait.
  void write_totals(const StateTotals& totals, std::string_view longest_in) {
    bool known = false;
    for (uint64_t nano : totals.nano) known = known || nano > 0;
    if (!known) return;
    json_.key("state_totals").begin_object();
    write_nano(totals.nano, "_nano");
    write_nano(totals.guessed_nano, "_guessed_nano");
    const uint64_t guessed_nano = std::accumulate(totals.guessed_nano.begin(), totals.guessed_nano.end(), uint64_t{0});
    if (guessed_nano > 0) json_.member("guessed_nano", guessed_nano);
    json_.end_object();
    if (totals.longest_wait) {
      json_.key("longest_wait");
      write_state(*totals.longest_wait, longest_in);
    }
  }

  void write_nano(const StateNano& nano, std::string_view suffix) {
    for (size_t i = 0; i < kThreadStates; ++i) {
      if (nano[i] == 0) continue;
      json_.member(std::string(thread_state_name(static_cast<ThreadState>(i))).append(suffix), nano[i]);
    }
  }

  void write_state(const StateInterval& interval, std::string_view in) {
    json_.begin_object().member("state", thread_state_name(interval.state));
    offset(interval.begin_nano);
    json_.member("duration_nano", interval.duration_nano());
    if (interval.state == ThreadState::kRunning) json_.member("cpu", interval.cpu);
    write_cause(interval.cause);
    flag_if("guessed", interval.guessed);
    member_if("in", in);
    if (interval.waker != nullptr) write_waker(*interval.waker);
    json_.end_object();
  }

  void write_waits(const WaitSums& waits) {
    flag_if("waits_left_out", waits.left_out);
    if (waits.sums.empty()) return;  // then more_count is 0, too
    write_list("waits", waits.sums, [this](const WaitSum& sum) { write_wait_sum(sum); });
    if (waits.more_count == 0) return;
    json_.key("more_waits").begin_object().member("count", waits.more_count);
    json_.member("total_nano", waits.more_nano).end_object();
  }

  void write_span_waits(const WaitSums& waits) {
    const bool has_more = waits.sums.size() > kFewWaitSums;
    if (!has_more || spans_with_more_sums_++ < kMostSpansWithMoreSums) return write_waits(waits);
    WaitSums few = waits;
    few.keep(kFewWaitSums);
    write_waits(few);
  }

  void write_wait_sum(const WaitSum& sum) {
    json_.begin_object().member("state", thread_state_name(sum.longest.state));
    write_cause(sum.longest.cause);
    member_if("in", sum.in);
    // Several interrupts mostly stopped different threads, so the name of one of them would mislead.
    if (sum.longest.waker != nullptr) write_waker(*sum.longest.waker, sum.count == 1);
    json_.member("count", sum.count).member("total_nano", sum.total_nano);
    json_.member("longest_nano", sum.longest.duration_nano());
    offset(sum.longest.begin_nano, "longest_offset_nano");
    if (sum.guessed_nano > 0) json_.member("guessed_nano", sum.guessed_nano);
    json_.end_object();
  }

  // "preempted" is only written if no CPU quota can be the cause.
  void write_cause(RunnableCause cause) {
    flag_if("preempted", cause == RunnableCause::kPreempted);
    if (cause == RunnableCause::kPreemptedOrThrottled) json_.member("throttled", std::string_view("possible"));
    if (cause == RunnableCause::kThrottled) json_.member("throttled", std::string_view("likely"));
  }

  void write_waker(const KernelEvent& waker, bool name_of_interrupted = true) {
    json_.key("waker").begin_object();
    if (waker.other_tid == 0) {
      json_.member("interrupt", true);
      if (name_of_interrupted) member_if("name", waker.other_name);
    } else {
      json_.member("pid", waker.other_pid).member("tid", waker.other_tid);
      json_.member("name", std::string_view(waker.other_name));
      write_other_process(static_cast<uint32_t>(waker.other_pid));
    }
    json_.end_object();
  }

  void write_other_process(uint32_t pid) {
    if (pid == 0 || process_->pid == 0 || pid == process_->pid) return;
    json_.member("other_process", true);
    member_if("service", services_.service_of(process_->node_id, pid));
  }

  void write_event(const TimelineEvent& event) {
    json_.begin_object();
    offset(event.unix_nano);
    if (!event.span_id.is_zero()) json_.member("span_id", std::string_view(event.span_id.hex()));
    if (event.other_span != nullptr) {
      json_.member("trace_id", std::string_view(event.other_span->trace_id.hex()));
      json_.member("span_id", std::string_view(event.other_span->span_id.hex()));
    }
    flag_if("other_request", event.other);
    flag_if("span_uncertain", !event.event->spans_certain);
    if (event.event->tracepoint < event.content->tracepoints.size()) {
      write_values(event, event.content->tracepoints[event.event->tracepoint]);
    }
    json_.end_object();
  }

  void write_values(const TimelineEvent& event, const capture::Tracepoint& place) {
    json_.member("name", std::string_view(place.name)).member("file", std::string_view(place.file));
    json_.member("line", place.line).key("values").begin_object();
    auto values = event.thread->values_of(*event.event);
    bool cut = values.size() < place.fields.size();
    const std::vector<bool>& repeated = repeated_keys(place);
    for (size_t i = 0; i < std::min(values.size(), place.fields.size()); ++i) {
      if (repeated[i]) continue;
      if (!paid()) break;
      json_.key(place.fields[i].key);
      cut = write_value(*event.thread, place.fields[i].type, values[i]) || cut;
    }
    json_.end_object();
    flag_if("cut", cut);
  }

  // For each field, whether an earlier one has its key: an object's keys are told once.
  const std::vector<bool>& repeated_keys(const capture::Tracepoint& place) {
    std::vector<bool>& repeated = repeated_keys_[&place];
    std::set<std::string_view> keys;
    for (size_t i = repeated.size(); i < place.fields.size(); ++i) {
      repeated.push_back(!keys.insert(place.fields[i].key).second);
    }
    return repeated;
  }

  // True: its end is missing.
  bool write_value(const capture::Thread& thread, FieldType type, capture::Value value) {
    switch (type) {
      case FieldType::kInteger:
        json_.number(value.integer());
        return false;
      case FieldType::kNatural:
        json_.number(value.natural());
        return false;
      case FieldType::kReal:
        json_.real(value.real());
        return false;
      case FieldType::kTruth:
        json_.boolean(value.truth());
        return false;
      case FieldType::kText:
        json_.string(thread.text_of(value));
        return value.is_cut();
      case FieldType::kBytes:
        json_.string(store::value_text({store::ValueType::kBytes, thread.text_of(value), 0}));
        return value.is_cut();
    }
    json_.null();
    return false;
  }

  void write_call(const TimelineCall& call) {
    const KernelEvent& event = *call.event;
    json_.begin_object();
    offset(call.begin_unix_nano);
    json_.member("duration_nano", call.end_unix_nano - call.begin_unix_nano);
    json_.member("name", syscall_name(event.syscall)).member("number", event.syscall);
    // Addresses and flags exceed what most readers keep exactly.
    json_.key("arguments").begin_array();
    for (uint64_t argument : event.arguments) json_.string(std::to_string(argument));
    json_.end_array();
    member_if("operation", call_operation(event));
    if (event.kind == capture::KernelEventKind::kSyscallUnderWay) {
      json_.member("under_way", true);
    } else {
      json_.member("result", event.result);
      member_if("error", error_name(event.result));
    }
    flag_if("begin_unknown", !call.begin_known);
    write_totals(call.totals, "");
    write_waits(call.waits);
    json_.end_object();
  }

  void write_fault(const TimelineFault& fault) {
    json_.begin_object();
    offset(fault.unix_nano);
    json_.member("address", std::string_view(std::to_string(fault.event->address)));
    json_.member("instruction", std::string_view(std::to_string(fault.event->instruction)));
    flag_if("protection", (fault.event->fault & 1) != 0);
    flag_if("write", (fault.event->fault & 2) != 0);
    flag_if("execution", (fault.event->fault & 16) != 0);
    flag_if("of_kernel", fault.event->kind == capture::KernelEventKind::kKernelFault);
    json_.end_object();
  }

  const Timeline& timeline_;
  const ProcessServices services_;
  const TimelineProcess* process_ = nullptr;  // that is being written
  std::map<const capture::Tracepoint*, std::vector<bool>> repeated_keys_;
  uint64_t spans_with_more_sums_ = 0;  // with more than kFewWaitSums
  std::string out_;
  Meter meter_;
  JsonWriter json_{out_};
};

}  // namespace

Result<std::string> timeline_json(const Timeline& timeline, store::QueryBudget& budget) {
  return TimelineDocument(timeline, budget).write();
}

}  // namespace fathom::query
