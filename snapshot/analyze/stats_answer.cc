#include "snapshot/analyze/stats_answer.h"

#include <algorithm>
#include <cstdio>

#include "base/table.h"
#include "base/text.h"
#include "snapshot/analyze/answer_context.h"
#include "snapshot/analyze/answer_head.h"
#include "snapshot/analyze/svg.h"
#include "snapshot/analyze/time_resolution.h"
#include "snapshot/decode/packets.h"
#include "snapshot/format/held_locks.h"

namespace fathom::snapshot {
namespace {

struct ThreadCount {
  int32_t pid = -1;
  uint64_t instructions = 0;
  uint64_t gaps = 0;
};
using ThreadCounts = std::map<int32_t, ThreadCount>;

class StatsPart : public FlowPart {
 public:
  explicit StatsPart(int32_t tid) : tid_(tid) {}
  void take(std::span<const FlowItem> items) override {
    for (const FlowItem& item : items) {
      if (item.kind == FlowKind::kThread) {
        const bool wanted = tid_ < 0 || item_tid(item) == tid_;
        thread_ = wanted ? &threads[item_tid(item)] : nullptr;
        if (wanted) thread_->pid = item_pid(item);
      }
      if (thread_ != nullptr) take_one(item);
    }
  }

  ThreadCounts threads;
  TimeResolution resolution;

 private:
  void take_one(const FlowItem& item) {
    if (item.kind == FlowKind::kBlock) {
      thread_->instructions += item.count;
      resolution.run(item.tsc, item.count);
    } else if (item.kind == FlowKind::kPause) {
      paused_tsc_ = item.tsc;
    } else if (item.kind == FlowKind::kResume) {
      resolution.skip(paused_tsc_, item.tsc);
    } else if (item.kind == FlowKind::kThread || item.kind == FlowKind::kGap) {
      resolution.restart();
      thread_->gaps += item.kind == FlowKind::kGap;
    }
  }

  int32_t tid_;
  uint64_t paused_tsc_ = 0;
  ThreadCount* thread_ = nullptr;
};

class StatsFlow : public Analysis {
 public:
  explicit StatsFlow(int32_t tid) : tid_(tid) {}
  std::unique_ptr<FlowPart> part(size_t) override { return std::make_unique<StatsPart>(tid_); }
  bool merge(std::unique_ptr<FlowPart> merged) override {
    const StatsPart& part = static_cast<StatsPart&>(*merged);
    resolution.merge(part.resolution);
    for (const auto& [tid, count] : part.threads) {
      ThreadCount& all = threads[tid];
      all.pid = count.pid;
      all.instructions += count.instructions;
      all.gaps += count.gaps;
    }
    return true;
  }

  ThreadCounts threads;
  TimeResolution resolution;

 private:
  int32_t tid_;
};

struct Stats {
  const AnswerContext& context;
  const StatsFlow& flow;
  const PacketCounts& packets;
  const DecodeSummary& summary;

  uint64_t length() const { return context.time().duration(summary.last_tsc - summary.first_tsc); }
  double bytes_per_instruction() const {
    return summary.instructions == 0 ? 0
                                     : static_cast<double>(packets.bytes) / static_cast<double>(summary.instructions);
  }
  // Only where time is known in nanoseconds.
  std::optional<double> megabytes_per_second() const {
    if (!context.time().is_nano() || length() == 0) return std::nullopt;
    return static_cast<double>(packets.bytes) * 1000 / static_cast<double>(length());
  }
  uint64_t median_time() const { return context.time().duration(flow.resolution.median_ticks()); }
  std::optional<double> factor() const {
    if (!context.time().is_nano() || flow.resolution.samples() == 0) return std::nullopt;
    return TimeResolution::factor(median_time(), flow.resolution.median_instructions());
  }
};

std::string decimal(double value, const char* format) {
  char text[48];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

using Kind = std::pair<std::string_view, PacketCount>;

std::vector<Kind> by_bytes(const PacketCounts& packets) {
  std::vector<Kind> kinds(packets.kinds.begin(), packets.kinds.end());
  std::ranges::stable_sort(kinds, [](const Kind& a, const Kind& b) { return a.second.bytes > b.second.bytes; });
  return kinds;
}

std::string volume_text(const Stats& stats) {
  std::string text = group_digits(stats.summary.instructions) +
                     (stats.summary.instructions == 1 ? " instruction in " : " instructions in ") +
                     group_digits(stats.packets.bytes) + " bytes of packets";
  text += ", " + decimal(stats.bytes_per_instruction(), "%.3f") + " bytes per instruction\n";
  text += "from the first packet's time to the last one's: " + stats.context.time().text(stats.length());
  if (const auto rate = stats.megabytes_per_second()) text += ", " + decimal(*rate, "%.2f") + " MB/s";
  return text + "\n";
}

std::string resolution_text(const Stats& stats) {
  if (stats.flow.resolution.samples() == 0) return "time resolution: no branch was timed\n";
  std::string text = "time resolution: " + stats.context.time().text(stats.median_time()) + " and " +
                     group_digits(stats.flow.resolution.median_instructions()) +
                     " instructions between timed branches (medians)";
  if (const auto factor = stats.factor()) {
    text += ", factor " + decimal(*factor, "%.3g") +
            "\n  (TRF: 0 is 14 ns and 78 instructions, 100 is 910.5 us and 2.5 million instructions)";
  }
  return text + "\n";
}

std::string packets_text(const Stats& stats) {
  Table table({{"PACKET"}, {"COUNT", Align::kRight}, {"BYTES", Align::kRight}});
  for (const auto& [name, packet] : by_bytes(stats.packets)) {
    table.add({std::string(name), group_digits(packet.count), group_digits(packet.bytes)});
  }
  std::string text = table.empty() ? "no packets\n" : table.render(0);
  const auto also = [&](uint64_t bytes, std::string_view what) {
    if (bytes > 0) text += group_digits(bytes) + " bytes " + std::string(what) + "\n";
  };
  also(stats.packets.skipped_bytes, "before the first synchronisation point");
  also(stats.packets.bad_bytes, "that are no packets");
  return text;
}

// Those whose doings explain a slow request first.
std::vector<std::pair<int32_t, ThreadCount>> threads_of(const Stats& stats) {
  const std::vector<int32_t> foremost = foremost_threads(stats.context.snapshot());
  std::vector<std::pair<int32_t, ThreadCount>> threads(stats.flow.threads.begin(), stats.flow.threads.end());
  std::ranges::stable_sort(threads, {}, [&](const auto& row) { return std::ranges::find(foremost, row.first); });
  return threads;
}

// Names come last: however long they are, they move no other column.
std::string threads_text(const Stats& stats) {
  Table table({{"THREAD", Align::kRight},
               {"PROCESS", Align::kRight},
               {"INSTRUCTIONS", Align::kRight},
               {"GAPS", Align::kRight},
               {"NAME"}});
  for (const auto& [tid, count] : threads_of(stats)) {
    table.add({tid < 0 ? "unknown" : std::to_string(tid), count.pid < 0 ? "unknown" : std::to_string(count.pid),
               group_digits(count.instructions), group_digits(count.gaps), stats.context.thread_name(tid)});
  }
  return table.empty() ? "no threads\n" : table.render(0);
}

// What keeps instructions from being decoded, or names from being known; empty when nothing does.
std::string image_problem(const Stats& stats, uint32_t number) {
  const Image& image = stats.context.snapshot().images[number];
  if (image.content == Sha256{}) return image.missing.empty() ? "missing" : "missing: " + image.missing;
  if (!stats.context.directory().has_image(image.content)) return "missing: its copy is gone";
  const std::string& problem = stats.context.names().symbols(number)->problem();
  return problem.empty() ? "" : "no symbols: " + problem;
}

bool is_present(const Stats& stats, const Image& image) {
  return !(image.content == Sha256{}) && stats.context.directory().has_image(image.content);
}

// Problems, each with how many images have it, in the order in which they come first.
class ImageProblems {
 public:
  explicit ImageProblems(const Stats& stats) {
    for (uint32_t i = 0; i < stats.context.snapshot().images.size(); ++i) add(image_problem(stats, i));
  }
  // "(1)", as list() numbers it; empty where there is none.
  std::string mark(size_t image) const { return marks_[image] == 0 ? "" : "(" + std::to_string(marks_[image]) + ")"; }
  std::vector<std::string> list() const {
    std::vector<std::string> lines;
    for (const auto& [problem, count] : problems_) {
      lines.push_back("(" + std::to_string(lines.size() + 1) + ") " + group_digits(count) +
                      (count == 1 ? " image: " : " images: ") + printable(problem));
    }
    return lines;
  }

 private:
  void add(const std::string& problem) {
    marks_.push_back(0);
    if (problem.empty()) return;
    auto known = std::ranges::find(problems_, problem, &Problem::first);
    if (known == problems_.end()) known = problems_.insert(known, {problem, 0});
    ++known->second;
    marks_.back() = static_cast<size_t>(known - problems_.begin()) + 1;
  }

  using Problem = std::pair<std::string, uint64_t>;
  std::vector<Problem> problems_;
  std::vector<size_t> marks_;
};

std::string images_text(const Stats& stats) {
  Table table({{"BYTES", Align::kRight}, {"BUILD ID"}, {"PROBLEM"}, {"IMAGE"}});
  const auto& images = stats.context.snapshot().images;
  const ImageProblems problems(stats);
  for (size_t i = 0; i < images.size(); ++i) {
    table.add({group_digits(images[i].bytes), to_hex(images[i].build_id), problems.mark(i), images[i].name});
  }
  std::string text = table.empty() ? "no images\n" : table.render(0);
  for (const std::string& line : problems.list()) text += line + "\n";
  return text;
}

// What the recording has beside, and an import had no use for.
std::string unused_text(const Stats& stats) {
  std::string text;
  for (const Loss& loss : stats.context.snapshot().losses) {
    if (loss.is_loss() || loss.count == 0) continue;
    const std::string name = loss.name.substr(Loss::kUnused.size());
    text += (text.empty() ? "perf.data records not used: " : ", ") + printable(name) + " " + group_digits(loss.count);
  }
  return text.empty() ? text : text + "\n";
}

std::string table_of(const Stats& stats) {
  return head_text(stats.context.snapshot()) + volume_text(stats) + resolution_text(stats) + gaps_text(stats.summary) +
         "\n" + packets_text(stats) + "\n" + threads_text(stats) + "\n" + images_text(stats) + unused_text(stats);
}

void packets_json(net::JsonWriter& json, const PacketCounts& packets) {
  json.key("packets").begin_object();
  for (const auto& [name, packet] : by_bytes(packets)) {
    json.key(name).begin_object().member("count", packet.count).member("bytes", packet.bytes).end_object();
  }
  json.end_object().member("packet_bytes", packets.bytes).member("skipped_bytes", packets.skipped_bytes);
  json.member("bad_bytes", packets.bad_bytes);
}

void optional_json(net::JsonWriter& json, std::string_view name, std::optional<double> value) {
  json.key(name);
  value ? json.real(*value) : json.null();
}

void resolution_json(net::JsonWriter& json, const Stats& stats) {
  const TimeResolution& resolution = stats.flow.resolution;
  json.key("time_resolution").begin_object().member("timed_branches", resolution.samples());
  json.member("median_time", stats.median_time()).member("median_instructions", resolution.median_instructions());
  optional_json(json, "factor", stats.factor());
  json.end_object();
}

void unused_json(net::JsonWriter& json, const Stats& stats) {
  json.key("unused_records").begin_object();
  for (const Loss& loss : stats.context.snapshot().losses) {
    if (!loss.is_loss()) json.member(loss.name.substr(Loss::kUnused.size()), loss.count);
  }
  json.end_object();
}

void threads_json(net::JsonWriter& json, const Stats& stats) {
  json.key("threads").begin_array();
  for (const auto& [tid, count] : threads_of(stats)) {
    json.begin_object().member("tid", tid).member("pid", count.pid);
    json.member("name", std::string_view(stats.context.thread_name(tid)));
    json.member("instructions", count.instructions).member("gaps", count.gaps).end_object();
  }
  json.end_array();
}

void images_json(net::JsonWriter& json, const Stats& stats) {
  json.key("images").begin_array();
  const auto& images = stats.context.snapshot().images;
  for (uint32_t i = 0; i < images.size(); ++i) {
    json.begin_object().member("name", std::string_view(images[i].name)).member("bytes", images[i].bytes);
    json.member("build_id", std::string_view(to_hex(images[i].build_id)));
    json.member("present", is_present(stats, images[i]));
    json.member("problem", std::string_view(image_problem(stats, i))).end_object();
  }
  json.end_array();
}

std::string json_of(const Stats& stats) {
  std::string out;
  net::JsonWriter json(out);
  json.begin_object();
  head_json(json, stats.context.snapshot());
  gaps_json(json, stats.summary);
  json.member("blocks", stats.summary.blocks).key("bytes_per_instruction").real(stats.bytes_per_instruction());
  json.member("time_unit", stats.context.time().unit()).member("length", stats.length());
  optional_json(json, "mb_per_s", stats.megabytes_per_second());
  resolution_json(json, stats);
  packets_json(json, stats.packets);
  threads_json(json, stats);
  images_json(json, stats);
  unused_json(json, stats);
  json.end_object();
  return out + "\n";
}

void draw_packets(Svg& svg, const std::vector<Kind>& kinds, double top) {
  const double most = kinds.empty() ? 1 : static_cast<double>(std::max<uint64_t>(kinds[0].second.bytes, 1));
  for (const auto& [name, packet] : kinds) {
    const double width = 500 * static_cast<double>(packet.bytes) / most;
    svg.text(90, top + 13, name, 12, "end");
    svg.rect(100, top, std::max(width, 1.0), 18, "#80b1d3", name);
    svg.text(108 + width, top + 13, group_digits(packet.bytes) + " bytes, " + group_digits(packet.count) + " times",
             11);
    top += 24;
  }
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
    lines.push_back(text.substr(at, text.find('\n', at) - at));
  }
  return lines;
}

std::string svg_of(const Stats& stats) {
  std::vector<std::string> lines = lines_of(volume_text(stats) + resolution_text(stats) + gaps_text(stats.summary));
  for (std::string& line : ImageProblems(stats).list()) lines.push_back(line.substr(line.find(' ') + 1));
  const auto kinds = by_bytes(stats.packets);
  const double below = 40 + 18 * static_cast<double>(lines.size());
  const double height = below + 60 + 24 * static_cast<double>(kinds.size());
  Svg svg(900, height);
  svg.text(20, 24, "Packets, time, gaps", 16);
  double y = 44;
  for (const std::string& line : lines) {
    svg.text(20, y, cut_to_width(line, 120));
    y += 18;
  }
  draw_packets(svg, kinds, below + 14);
  svg.text(20, height - 14, caption_text(stats.context.snapshot(), stats.summary));
  return std::move(svg).finish();
}

}  // namespace

Result<> answer_stats(const SnapshotDirectory& directory, const Question& question, const Output& output) {
  auto context = AnswerContext::open(directory, question.id);
  if (!context) return context.error();
  auto packets = count_packets((*context)->file());
  if (!packets) return packets.error();
  StatsFlow flow(question.tid);
  // How finely packets tell time is not to be seen in what was estimated.
  auto summary = (*context)->decode(question, flow, {.estimate_times = false});
  if (!summary) return summary.error();
  const DecodeSummary all = summary->value_or(DecodeSummary{});
  const Stats stats{**context, flow, *packets, all};
  const bool is_json = question.format == Format::kJson;
  output(is_json ? json_of(stats) : question.format == Format::kSvg ? svg_of(stats) : table_of(stats));
  return {};
}

}  // namespace fathom::snapshot
