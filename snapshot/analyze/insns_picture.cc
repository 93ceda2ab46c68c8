#include "snapshot/analyze/insns_picture.h"

#include <algorithm>

#include "base/text.h"
#include "snapshot/analyze/activity.h"
#include "snapshot/analyze/answer_head.h"
#include "snapshot/analyze/flow_place.h"
#include "snapshot/analyze/svg.h"

namespace fathom::snapshot {
namespace {

class ActivityPart : public FlowPart {
 public:
  ActivityPart(const AnswerContext& context, int32_t tid)
      : places_(context.names()), tid_(tid), begin_tsc_(context.begin_tsc()) {}
  void take(std::span<const FlowItem> items) override {
    for (const FlowItem& item : items) {
      if (item.kind == FlowKind::kThread) {
        places_.run(item_pid(item));
        counts_ = tid_ < 0 || item_tid(item) == tid_;
      } else if (item.kind == FlowKind::kBlock && counts_) {
        activity.add(std::max(item.tsc, begin_tsc_), place_name(places_.find(item.tsc, item.ip)), item.count);
      }
    }
  }

  Activity activity;

 private:
  // Code without a symbol is its image's, whatever the address.
  static std::string place_name(const CodePlace& place) {
    if (place.function != nullptr) return place.function->name;
    return place.image != nullptr ? place.image->name : "(unknown code)";
  }

  FlowPlaces places_;
  int32_t tid_;
  uint64_t begin_tsc_;
  bool counts_ = false;
};

class Draw : public Analysis {
 public:
  Draw(const AnswerContext& context, int32_t tid) : context_(context), tid_(tid) { context.begin_tsc(); }
  std::unique_ptr<FlowPart> part(size_t) override { return std::make_unique<ActivityPart>(context_, tid_); }
  bool merge(std::unique_ptr<FlowPart> part) override {
    activity.merge(static_cast<ActivityPart&>(*part).activity);
    return true;
  }

  Activity activity;

 private:
  const AnswerContext& context_;
  int32_t tid_;
};

constexpr double kPictureWidth = 1000;
constexpr double kHeight = 480;
constexpr double kLeft = 20;
constexpr double kChartWidth = 680;
constexpr double kTop = 50;
constexpr double kBottom = 430;
constexpr size_t kMostSeries = 16;

uint64_t tallest_slot(const std::vector<Activity::Series>& all) {
  std::map<uint64_t, uint64_t> heights;
  for (const auto& series : all) {
    for (const auto& [slot, count] : series.slots) heights[slot] += count;
  }
  uint64_t tallest = 1;
  for (const auto& [slot, height] : heights) tallest = std::max(tallest, height);
  return tallest;
}

void draw_slots(Svg& svg, const Activity& activity, const std::vector<Activity::Series>& all) {
  const uint64_t width = activity.slot_width();
  const uint64_t first = activity.first() / width;
  const uint64_t slots = activity.last() / width - first + 1;
  const double each = kChartWidth / static_cast<double>(slots);
  const double scale = (kBottom - kTop) / static_cast<double>(tallest_slot(all));
  std::map<uint64_t, double> tops;
  for (const auto& series : all) {
    for (const auto& [slot, count] : series.slots) {
      const double height = static_cast<double>(count) * scale;
      double& top = tops.try_emplace(slot, kBottom).first->second;
      top -= height;
      svg.rect(kLeft + each * static_cast<double>(slot - first), top, each, height, name_colour(series.name),
               series.name + ": " + group_digits(count) + " instructions");
    }
  }
}

void draw_legend(Svg& svg, const std::vector<Activity::Series>& all) {
  double y = kTop + 12;
  for (const auto& series : all) {
    svg.rect(kLeft + kChartWidth + 20, y - 10, 12, 12, name_colour(series.name));
    svg.text(kLeft + kChartWidth + 38, y, cut_to_width(series.name, 38) + " " + group_digits(series.instructions), 11);
    y += 20;
  }
}

std::string picture(const AnswerContext& context, const Activity& activity, const DecodeSummary& summary) {
  Svg svg(kPictureWidth, kHeight);
  svg.text(kLeft, 24, "Instructions by function over time", 16);
  const auto all = activity.busiest(kMostSeries);
  if (!all.empty()) {
    draw_slots(svg, activity, all);
    draw_legend(svg, all);
    const uint64_t length = context.time().duration(activity.last() - activity.first());
    svg.text(kLeft, kBottom + 16, "0", 11);
    svg.text(kLeft + kChartWidth, kBottom + 16, context.time().text(length), 11, "end");
  }
  svg.line(kLeft, kBottom, kLeft + kChartWidth, kBottom);
  svg.text(kLeft, kHeight - 12, caption_text(context.snapshot(), summary));
  return std::move(svg).finish();
}

}  // namespace

Result<> answer_picture(const AnswerContext& context, const Question& question, AnswerWriter& writer) {
  Draw draw(context, question.tid);
  auto summary = context.decode(question, draw);
  if (!summary) return summary.error();
  writer.write(picture(context, draw.activity, summary->value_or(DecodeSummary{})));
  return {};
}

}  // namespace fathom::snapshot
