#include "snapshot/view/snapshot_view.h"

#include <algorithm>
#include <utility>

#include "snapshot/view/view_answers.h"

namespace fathom::snapshot {

namespace {

std::string_view engine_word(Engine engine) {
  if (engine == Engine::kStandIn) return "stand_in";
  return engine == Engine::kStep ? "step" : "intel_pt";
}

void write_gaps(net::JsonWriter& json, const DecodeSummary& summary) {
  json.member("gaps", summary.gap_total).key("gap_reasons").begin_array();
  for (const auto& [reason, gaps] : summary.gaps) {
    json.begin_object().member("reason", gap_reason_name(reason)).member("count", gaps.count);
    json.member("cause", std::string_view(gaps.first_cause)).end_object();
  }
  json.end_array();
}

}  // namespace

SnapshotView::SnapshotView(const SnapshotId& id, std::unique_ptr<AnswerContext> context, const ViewLimits& limits)
    : id_(id),
      context_(std::move(context)),
      extents_(context_->names(), context_->map()),
      functions_(extents_),
      decoder_(context_->images(), context_->map()),
      events_(*context_, decoder_),
      kept_(limits.most_items) {}

Result<std::unique_ptr<SnapshotView>> SnapshotView::open(const SnapshotDirectory& directory, const SnapshotId& id,
                                                         const ViewLimits& limits) {
  auto context = AnswerContext::open(directory, id);
  if (!context) return context.error();
  std::unique_ptr<SnapshotView> view(new SnapshotView(id, *std::move(context), limits));
  Question question;
  question.threads = limits.threads;
  auto summary = view->context_->decode(question, view->kept_);
  if (!summary) return summary.error();
  view->summary_ = summary->value_or(DecodeSummary{});
  view->index(limits);
  return view;
}

void SnapshotView::index(const ViewLimits& limits) {
  uint64_t room = limits.most_calls;
  for (KeptThread& thread : kept_.finish()) {
    threads_.push_back(std::make_unique<ThreadView>(*context_, functions_, std::move(thread), room));
    room -= std::min(room, threads_.back()->calls().calls());
  }
}

// The trigger's, or the one that ran most.
size_t SnapshotView::first_thread() const {
  size_t best = 0;
  for (size_t i = 0; i < threads_.size(); ++i) {
    if (threads_[i]->tid() >= 0 && threads_[i]->tid() == context_->snapshot().trigger.tid) return i;
    if (threads_[i]->flow().rows() > threads_[best]->flow().rows()) best = i;
  }
  return best;
}

void SnapshotView::write_thread(net::JsonWriter& json, const ThreadView& thread) const {
  const ViewAxis axis = thread.axis(ViewAxis::kTime);
  const PackedFlow& flow = thread.flow();
  const bool time = axis == ViewAxis::kTime;
  json.begin_object().member("pid", thread.pid()).member("tid", thread.tid());
  json.member("name", std::string_view(context_->thread_name(thread.tid())));
  json.member("unit", thread.unit());
  json.member("start", thread.offset(axis, time ? flow.first_tsc() : 0));
  json.member("end", thread.offset(axis, time ? flow.last_tsc() : flow.rows() - 1));
  json.member("rows", flow.rows()).member("instructions", flow.instructions()).member("gaps", flow.gaps());
  json.member("calls", thread.calls().calls()).member("depths", thread.calls().depths());
  if (thread.tid() >= 0 && thread.tid() == context_->snapshot().trigger.tid) json.member("of_trigger", true);
  json.end_object();
}

std::string SnapshotView::threads_answer() const {
  const Snapshot& snapshot = context_->snapshot();
  uint64_t left_out_calls = 0;
  for (const auto& thread : threads_) left_out_calls += thread->calls().left_out_calls();
  std::string out;
  net::JsonWriter json(out);
  json.begin_object().member("snapshot_id", std::string_view(id_.hex()));
  json.member("engine", engine_word(snapshot.engine)).key("slowdown").real(snapshot.slowdown);
  json.member("unit", context_->begin_tsc() == 0 ? "rows" : context_->time().unit());
  if (const uint64_t hz = context_->time().nominal_hz(); hz != 0) json.member("nominal_tsc_hz", hz);
  json.member("taken_unix_nano", std::string_view(std::to_string(snapshot.taken_unix_nano)));
  json.member("command", std::string_view(snapshot.command)).member("instructions", summary_.instructions);
  write_gaps(json, summary_);
  json.member("left_out_rows", kept_.left_out_rows()).member("left_out_calls", left_out_calls);
  json.member("thread", first_thread()).key("threads").begin_array();
  for (const auto& thread : threads_) write_thread(json, *thread);
  json.end_array().end_object();
  return out + "\n";
}

// For a server, which must show no source file but those that line tables of the snapshot name.
Result<std::string> SnapshotView::source_answer(const std::string& file) {
  bool is_named = named_sources_.contains(file);
  for (uint32_t image = 0; !is_named; ++image) {
    const ImageSymbols* symbols = context_->names().symbols(image);
    if (symbols == nullptr) break;
    is_named = symbols->names_source(file);
  }
  if (!is_named) return not_found("no line of the snapshot is of this file");
  named_sources_.insert(file);
  return std::string("named\n");
}

Result<std::string> SnapshotView::answer(const ViewAsk& ask) {
  if (ask.verb == ViewVerb::kThreads) return threads_answer();
  if (ask.verb == ViewVerb::kSource) return source_answer(ask.text);
  if (ask.thread >= threads_.size()) {
    return not_found("there is no thread " + std::to_string(ask.thread) + " in the view of this snapshot; it has " +
                     std::to_string(threads_.size()) + ", counted from 0");
  }
  switch (ask.verb) {
    case ViewVerb::kCalls:
      return calls_answer(*this, ask);
    case ViewVerb::kInsns:
      return rows_answer(*this, ask);
    case ViewVerb::kStack:
      return stack_answer(*this, ask);
    case ViewVerb::kFind:
      return find_answer(*this, ask);
    case ViewVerb::kThreads:
    case ViewVerb::kSource:
      break;
  }
  return threads_answer();
}

}  // namespace fathom::snapshot
