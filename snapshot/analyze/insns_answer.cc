#include "snapshot/analyze/insns_answer.h"

#include "base/text.h"
#include "snapshot/analyze/answer_context.h"
#include "snapshot/analyze/answer_head.h"
#include "snapshot/analyze/insns_picture.h"
#include "snapshot/analyze/insns_rows.h"
#include "snapshot/format/held_locks.h"

namespace fathom::snapshot {
namespace {

// Blocks are kept until it is their turn to be printed; a byte of packets can stand for eight of them.
constexpr uint64_t kPartBytes = 64 << 10;

// Counts what a thread alone ran; what all ran is in the summary.
class CountPart : public FlowPart {
 public:
  explicit CountPart(int32_t tid) : tid_(tid) {}
  void take(std::span<const FlowItem> items) override {
    for (const FlowItem& item : items) {
      if (item.kind == FlowKind::kThread) counts_ = item_tid(item) == tid_;
      if (!counts_) continue;
      instructions += item.kind == FlowKind::kBlock ? item.count : 0;
      gaps += item.kind == FlowKind::kGap ? 1 : 0;
    }
  }

  uint64_t instructions = 0;
  uint64_t gaps = 0;

 private:
  int32_t tid_;
  bool counts_ = false;
};

class NothingPart : public FlowPart {
  void take(std::span<const FlowItem>) override {}
};

class Count : public Analysis {
 public:
  explicit Count(int32_t tid) : tid_(tid) {}
  std::unique_ptr<FlowPart> part(size_t) override {
    if (tid_ < 0) return std::make_unique<NothingPart>();
    return std::make_unique<CountPart>(tid_);
  }
  bool merge(std::unique_ptr<FlowPart> part) override {
    if (tid_ < 0) return true;
    instructions += static_cast<CountPart&>(*part).instructions;
    gaps += static_cast<CountPart&>(*part).gaps;
    return true;
  }

  uint64_t instructions = 0;
  uint64_t gaps = 0;

 private:
  int32_t tid_;
};

Result<> answer_count(const AnswerContext& context, const Question& question, AnswerWriter& writer) {
  Count count(question.tid);
  auto summary = context.decode(question, count);
  if (!summary) return summary.error();
  const DecodeSummary all = summary->value_or(DecodeSummary{});
  const bool everybody = question.tid < 0;
  writer.write(std::to_string(everybody ? all.instructions : count.instructions) + "\n" +
               std::to_string(everybody ? all.gap_total : count.gaps) + "\n");
  return {};
}

class KeptPart : public FlowPart {
 public:
  void take(std::span<const FlowItem> more) override { items.insert(items.end(), more.begin(), more.end()); }
  std::vector<FlowItem> items;
};

class Print : public Analysis {
 public:
  explicit Print(InsnsRows& rows) : rows_(rows) {}
  std::unique_ptr<FlowPart> part(size_t) override { return std::make_unique<KeptPart>(); }
  bool merge(std::unique_ptr<FlowPart> part) override { return rows_.print(static_cast<KeptPart&>(*part).items); }

 private:
  InsnsRows& rows_;
};

// What ends a list: the gaps, or that there is more.
void end_table(const std::optional<DecodeSummary>& summary, const InsnsRows& rows, AnswerWriter& writer) {
  if (summary) {
    writer.write(group_digits(summary->instructions) +
                 (summary->instructions == 1 ? " instruction\n" : " instructions\n") + gaps_text(*summary));
  } else if (rows.limited()) {
    writer.write("-- and more: the limit of " + group_digits(rows.rows()) + " rows is reached\n");
  }
  writer.write(rows.notes().missing_text());
}

void begin_json(const AnswerContext& context, AnswerWriter& writer) {
  net::JsonWriter json(writer.buffer());
  json.begin_object();
  head_json(json, context.snapshot());
  json.member("time_unit", context.time().unit()).key("rows").raw("[");
}

void end_json(const std::optional<DecodeSummary>& summary, AnswerWriter& writer) {
  std::string out;
  net::JsonWriter json(out);
  json.begin_object().member("complete", summary.has_value());
  if (summary) gaps_json(json, *summary);
  json.end_object();
  writer.write("],\n" + out.substr(1) + "\n");
}

Result<> answer_rows(const AnswerContext& context, const Question& question, AnswerWriter& writer) {
  const bool json = question.format == Format::kJson;
  json ? begin_json(context, writer)
       : void(writer.write(head_text(context.snapshot()) + "time in " + std::string(context.time().unit()) +
                           " since the beginning\n"));
  InsnsRows rows(context, question, writer);
  Print print(rows);
  auto summary =
      context.decode(question, print, {.part_bytes = kPartBytes, .foremost = foremost_threads(context.snapshot())});
  if (!summary) return summary.error();
  json ? end_json(*summary, writer) : end_table(*summary, rows, writer);
  return {};
}

}  // namespace

Result<> answer_insns(const SnapshotDirectory& directory, const Question& question, const Output& output) {
  auto context = AnswerContext::open(directory, question.id);
  if (!context) return context.error();
  // Before anything is written.
  if (auto known = (*context)->check_thread(question.tid); !known) return known.error();
  AnswerWriter writer(output);
  Result<> answered;
  if (question.count_only) {
    answered = answer_count(**context, question, writer);
  } else if (question.format == Format::kSvg) {
    answered = answer_picture(**context, question, writer);
  } else {
    answered = answer_rows(**context, question, writer);
  }
  writer.flush();
  return answered;
}

}  // namespace fathom::snapshot
