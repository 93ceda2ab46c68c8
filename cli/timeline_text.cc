#include "cli/timeline_text.h"

#include <algorithm>
#include <set>

#include "base/time.h"
#include "cli/api.h"
#include "cli/colours.h"
#include "cli/text.h"
#include "cli/timeline_lines.h"
#include "cli/value_text.h"
#include "cli/wait_text.h"

namespace fathom::cli {

namespace {

constexpr size_t kNarrowest = 14;  // "+1650.312 ms"
constexpr size_t kDurationWidth = 10;
constexpr size_t kLongDurationWidth = 13;  // "23 h 59 min"
constexpr size_t kDeepestIndent = 24;
constexpr size_t kMostProcessors = 8;  // that are listed

class TimelineWriter {
 public:
  TimelineWriter(const boost::json::value& timeline, const TimelineTextOptions& options)
      : timeline_(timeline), options_(options), digits_(offset_digits(number_of(timeline, "duration_nano"))) {
    widen(number_of(timeline, "duration_nano"), number_of(timeline, "duration_nano"));
    for (const auto& process : array_of(timeline, "processes")) {
      for (const auto& thread : array_of(process, "threads")) {
        const uint64_t duration_nano = number_of(thread, "duration_nano");
        widen(signed_of(thread, "offset_nano"), duration_nano);
        widen(TimelineLine{.offset_nano = signed_of(thread, "offset_nano"), .duration_nano = duration_nano}.end_nano());
      }
    }
  }

  std::string write() {
    header();
    for (const auto& capture : array_of(timeline_, "captures")) capture_lines(capture);
    no_system_calls();
    for (const auto& process : array_of(timeline_, "processes")) process_lines(process);
    if (array_of(timeline_, "captures").empty()) nothing_captured();
    captures_left_out();
    if (flag_of(timeline_, "truncated")) {
      // What --limit 0 asks for is the most that a server gives.
      const char* cure = options_.max_lines == 0 ? "ask for less, by --span or --capture" : "--limit 0 shows them";
      add("\nthe server left out " + plural(number_of(timeline_, "left_out"), "item") + ": " + cure, kDim);
    }
    return std::move(out_);
  }

 private:
  // Servers of earlier versions do not say which captures have system calls.
  size_t count_captures(bool has_system_calls) const {
    return static_cast<size_t>(std::ranges::count_if(array_of(timeline_, "captures"), [&](const auto& capture) {
      const boost::json::value& has = member_of(capture, "has_system_calls");
      return has.is_bool() && has.get_bool() == has_system_calls;
    }));
  }

  void no_system_calls() {
    if (count_captures(false) == 0 || count_captures(true) > 0) return;
    add("\nno system calls were recorded: 'fathom capture --ahead' records them for a while, and agents with "
        "--kernel-events traced always do",
        kDim);
  }

  // Servers of earlier versions give no reason.
  void nothing_captured() {
    const bool is_explained = std::ranges::any_of(array_of(timeline_, "processes"), [](const auto& process) {
      return member_of(process, "no_capture").is_object();
    });
    std::string text = "\nnothing of its threads was captured: these are its spans only";
    if (!is_explained) {
      text +=
          ". That is so where it was not among the slowest of its\noperation and minute, and did not fail; where "
          "captures are limited; or where no program used fathom's client";
    }
    add(text + " (docs/triggers.md)", kDim);
  }

  void captures_left_out() {
    const uint64_t count = number_of(timeline_, "captures_left_out");
    if (count == 0) return;
    add("\nleft out: " + plural(count, "capture") + " of other requests that would take too much of the query's memory",
        kDim);
  }

  void widen(int64_t offset_nano, uint64_t duration_nano) {
    widen(offset_nano);
    if (duration_nano >= kNanosPerMinute) duration_width_ = kLongDurationWidth;
  }
  void widen(int64_t offset_nano) { number_width_ = std::max(number_width_, display_width(offset(offset_nano)) + 2); }
  std::string offset(int64_t offset_nano) const { return offset_text(offset_nano, digits_); }
  std::string offset_of(const boost::json::value& object, std::string_view key) const {
    return offset(signed_of(object, key));
  }

  void add(const std::string& text, const char* colour = nullptr) {
    bool coloured = options_.colour && colour != nullptr;
    std::string shown = options_.columns == 0 ? text : cut_lines(text);
    out_ += (coloured ? colour + shown + kColourOff : shown) + "\n";
  }
  // Line by line: a text may begin with an empty line.
  std::string cut_lines(const std::string& text) const {
    size_t start = text.find_first_not_of('\n');
    if (start == std::string::npos) return text;
    return text.substr(0, start) + cut_to_width(text.substr(start), options_.columns);
  }

  void header() {
    std::string id = text_of(timeline_, "trace_id");
    add(id.empty() ? "a capture of no trace" : "trace " + printable(id), kBold);
    add(format_duration(number_of(timeline_, "duration_nano")) + ", started " +
        short_instant(number_of(timeline_, "start_time_unix_nano")) + " UTC");
  }

  void capture_lines(const boost::json::value& capture) {
    std::string text = "\ncapture " + printable(text_of(capture, "id")) + "  " + printable(text_of(capture, "trigger"));
    text += "  " + name_text(text_of(capture, "service"));
    if (uint64_t pid = number_of(capture, "pid"); pid != 0) text += " pid " + std::to_string(pid);
    add(text + " on " + name_text(text_of(capture, "host_name")), kBold);
    if (std::string reason = text_of(capture, "reason"); !reason.empty()) add("  " + printable(reason));
    other_trace(text_of(capture, "trace_id"));
    std::string problem = text_of(capture, "problem");
    if (!problem.empty()) return add("  cannot be shown: " + printable(problem), kRed);
    add("  " + window_text(capture));
    for (const std::string& doubt : doubts(capture)) add("  " + doubt, kDim);
  }

  // Else its reason would read as this request's.
  void other_trace(const std::string& of_capture) {
    const std::string shown = text_of(timeline_, "trace_id");
    if (shown.empty() || of_capture.empty() || of_capture == shown) return;
    add("  of another request, trace " + printable(of_capture) + "; it covers this one's time");
  }

  std::string window_text(const boost::json::value& capture) {
    std::string text = "from " + offset_of(capture, "offset_nano") + " for " +
                       format_duration(number_of(capture, "duration_nano")) + "; events " +
                       completeness(capture, "events_complete_from_offset_nano", "complete from ");
    std::string missing = text_of(capture, "kernel_missing");
    if (member_of(capture, "kernel_complete_from_offset_nano").is_null()) {
      bool said = !missing.empty() && !said_missing_.insert(missing).second;
      if (said) return text + "; nothing of the kernel, as above";
      return text + "; nothing of the kernel" + (missing.empty() ? "" : ": " + printable(missing));
    }
    text += ", the kernel's " + completeness(capture, "kernel_complete_from_offset_nano", "from ");
    if (lacks_changes(capture)) text += " but for what was lost";
    const bool lacks_calls = member_of(capture, "has_system_calls") == false && count_captures(true) > 0;
    return text + (lacks_calls ? ", without system calls" : "");
  }

  // From when on nothing is missing, as far as that is a time that the window has.
  std::string completeness(const boost::json::value& capture, std::string_view key, const char* words) const {
    const int64_t from_nano = signed_of(capture, key);
    const TimelineLine window{.offset_nano = signed_of(capture, "offset_nano"),
                              .duration_nano = number_of(capture, "duration_nano")};
    if (from_nano > window.offset_nano && from_nano >= window.end_nano()) return "not complete, some are overwritten";
    const bool is_trace = !text_of(timeline_, "trace_id").empty();
    const bool after =
        is_trace && from_nano > 0 && static_cast<uint64_t>(from_nano) >= number_of(timeline_, "duration_nano");
    return words + offset(from_nano) + (after ? " (after the request)" : "");
  }

  // Of what is said to be complete otherwise.
  static bool lacks_changes(const boost::json::value& capture) {
    return std::ranges::any_of(array_of(capture, "content_losses"), [](const boost::json::value& loss) {
      std::string name = text_of(loss, "name");
      return name == "kernel_missed" || name == "kernel_torn";
    });
  }

  static std::vector<std::string> doubts(const boost::json::value& capture) {
    std::vector<std::string> lines;
    if (flag_of(capture, "process_ended")) lines.emplace_back("the process was over when it was read");
    if (std::string signal = text_of(capture, "exit_signal"); !signal.empty()) {
      lines.push_back("the process was killed by " + printable(signal));
    }
    if (flag_of(capture, "truncated")) lines.emplace_back("it was cut: it would have been larger than captures may be");
    if (flag_of(capture, "crosses_clock_jump"))
      lines.emplace_back("a clock jumped within it: times before are doubtful");
    if (flag_of(capture, "clock_unknown")) lines.emplace_back("the node's clock was not measured");
    const boost::json::value& clock = member_of(capture, "clock");
    if (clock.is_object()) {
      lines.push_back("times are right within " + format_duration(number_of(clock, "error_nano")) + " of other nodes'");
    }
    // What is counted in the capture, its header mostly repeats.
    std::set<std::string> told;
    for (const char* kind : {"losses", "content_losses"}) {
      for (const auto& loss : array_of(capture, kind)) {
        if (std::string text = loss_text(loss); told.insert(text).second) lines.push_back(text);
      }
    }
    return lines;
  }

  static std::string loss_text(const boost::json::value& loss) {
    std::string name = text_of(loss, "name");
    std::string text = "lost: " + group_digits(number_of(loss, "count")) + " " + printable(name);
    if (name.starts_with("over_budget")) return text + " (the oldest events: more than --capture-budget)";
    if (name.starts_with("over_limit")) return text + " (more than a capture may have)";
    if (name.starts_with("overwritten")) return text + " (by younger events, before they were read)";
    return text;
  }

  // Of what is open it depends on this whether it may still end.
  bool is_over(const boost::json::value& process) const {
    const boost::json::array& captures = array_of(timeline_, "captures");
    return std::ranges::any_of(array_of(process, "captures"), [&](const boost::json::value& index) {
      bool there =
          index.is_int64() && index.get_int64() >= 0 && index.get_int64() < static_cast<int64_t>(captures.size());
      return there && flag_of(captures[static_cast<size_t>(index.get_int64())], "process_ended");
    });
  }

  void process_lines(const boost::json::value& process) {
    open_mark_ = is_over(process) ? "  [open when the process ended]" : "  [not over yet]";
    std::string text = "\n" + name_text(text_of(process, "service"));
    if (uint64_t pid = number_of(process, "pid"); pid != 0) text += "  pid " + std::to_string(pid);
    std::string host = text_of(process, "host_name");
    add(text + (host.empty() ? "" : " on " + printable(host)), kBold);
    no_capture(process);
    for (const auto& thread : array_of(process, "threads")) write_thread(thread);
    std::vector<TimelineLine> alone = span_lines(process);
    if (!alone.empty()) add("  spans whose thread is not known");
    for (const TimelineLine& line : alone) write_line(line);
    uint64_t others = number_of(process, "other_threads");
    if (others > 0) add("  " + plural(others, "other thread") + " (--all shows them)", kDim);
  }

  void no_capture(const boost::json::value& process) {
    const boost::json::value& none = member_of(process, "no_capture");
    const std::string why = text_of(none, "explanation");
    if (why.empty()) return;
    const bool has_others = !array_of(process, "captures").empty();
    // For a partial capture, the explanation begins with that.
    const char* what = has_others ? "not captured for this request: " : "nothing was captured: ";
    add("  " + std::string(flag_of(none, "partial") ? "" : what) + printable(why), kDim);
  }

  void write_thread(const boost::json::value& thread) {
    std::string name = "  thread " + std::to_string(number_of(thread, "tid"));
    if (std::string given = text_of(thread, "name"); !given.empty()) name += " " + printable(given);
    std::string totals = totals_text(thread);
    if (flag_of(thread, "not_captured")) totals = "the captures have no events of this thread";
    add(name + (totals.empty() ? "" : ": " + totals + processors(thread)) + ended_waits(thread));
    if (array_of(thread, "spans").empty()) {
      for (const std::string& wait : wait_lines(thread)) add("    " + wait, kDim);
    }
    ThreadLines lines = thread_lines(thread, options_.max_lines);
    for (const TimelineLine& line : lines.lines) write_line(line);
    rest_of(thread, lines.left_out);
  }

  static std::string ended_waits(const boost::json::value& thread) {
    const uint64_t nano = number_of(thread, "ended_waits_nano");
    return nano == 0 ? "" : "; ended " + format_duration(nano) + " of the request's waits";
  }

  static std::string processors(const boost::json::value& thread) {
    std::set<uint64_t> numbers;
    for (const auto& state : array_of(thread, "states")) {
      if (text_of(state, "state") == "running") numbers.insert(number_of(state, "cpu"));
    }
    std::string text;
    size_t listed = 0;
    for (uint64_t number : numbers) {
      if (listed++ == kMostProcessors) return text + ", ...";
      text += (text.empty() ? "; on cpu " : ", ") + std::to_string(number);
    }
    return text;
  }

  void rest_of(const boost::json::value& thread, uint64_t left_out) {
    std::string indent(number_width_ + duration_width_ + 2, ' ');
    if (left_out > 0)
      add(indent + plural(left_out, "line") + " not shown, where '...' stands (--limit 0 shows all)", kDim);
    uint64_t others = number_of(thread, "other_events");
    if (others > 0) add(indent + plural(others, "event") + " of other requests, or of none (--all shows them)", kDim);
  }

  void write_line(const TimelineLine& line) {
    std::string duration = line.duration_nano ? format_duration(*line.duration_nano) : "";
    std::string numbers = pad_to_width(offset(line.offset_nano), number_width_, Align::kRight) +
                          pad_to_width(duration, duration_width_, Align::kRight) + "  ";
    std::string indent(2 * std::min(line.depth, kDeepestIndent), ' ');
    add(numbers + indent + line.text + (line.open ? open_mark_ : ""), colour_of(line));
    for (const std::string& more : line.below) add(std::string(display_width(numbers) + 2, ' ') + indent + more, kDim);
  }

  static const char* colour_of(const TimelineLine& line) {
    if (line.error) return kRed;
    if (line.kind == TimelineLineKind::kGap) return kDim;
    return line.kind == TimelineLineKind::kSpan ? kBold : nullptr;
  }

  const boost::json::value& timeline_;
  const TimelineTextOptions& options_;
  OffsetDigits digits_;
  size_t number_width_ = kNarrowest;
  size_t duration_width_ = kDurationWidth;
  std::string open_mark_;
  std::set<std::string> said_missing_;
  std::string out_;
};

}  // namespace

std::string timeline_text(const boost::json::value& timeline, const TimelineTextOptions& options) {
  return TimelineWriter(timeline, options).write();
}

}  // namespace fathom::cli
