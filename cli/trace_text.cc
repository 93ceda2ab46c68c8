#include "cli/trace_text.h"

#include <algorithm>
#include <set>

#include "base/time.h"
#include "cli/api.h"
#include "cli/colours.h"
#include "cli/span_details.h"
#include "cli/text.h"
#include "cli/value_text.h"

namespace fathom::cli {

namespace {

constexpr size_t kSpanBarWidth = 24;
constexpr size_t kNumberWidth = 12;
constexpr uint32_t kDeepestDrawn = 24;  // deeper lines say their depth instead of drawing it

using Wide = unsigned __int128;

class TraceWriter {
 public:
  TraceWriter(const TraceTree& tree, const TraceTextOptions& options) : tree_(tree), options_(options) {
    number_width_ = kNumberWidth;
    for (const TreeSpan& span : tree.spans) {
      uint64_t longest = std::max(span.start_unix_nano - tree.start_unix_nano, span.duration_nano);
      number_width_ = std::max(number_width_, display_width(format_duration(longest)) + 3);
    }
  }

  std::string write() {
    header();
    size_t shown = lines_shown(tree_.lines.size(), options_.max_lines);
    for (size_t i = 0; i < shown; ++i) line(i);
    if (shown < tree_.lines.size()) {
      out_ += "... " + plural(tree_.lines.size() - shown, "more line") + " (--limit 0 shows all)\n";
    }
    resources();
    return std::move(out_);
  }

 private:
  void header() {
    out_ += "trace " + printable(tree_.trace_id) + "\n";
    out_ += format_duration(tree_.duration_nano) + ", " + plural(tree_.spans.size(), "span") + ", " +
            plural(services(), "service") + ", " + plural(errors(), "error") + ", started " +
            short_instant(tree_.start_unix_nano) + " UTC" + (tree_.complete || tree_.oversized ? "" : ", incomplete") +
            "\n\n";
    out_ += pad_to_width("OFFSET", number_width_, Align::kRight) +
            pad_to_width("DURATION", number_width_, Align::kRight) + "  " + std::string(kSpanBarWidth + 2, ' ') +
            "  SERVICE  OPERATION\n";
  }

  size_t services() const {
    std::set<std::string_view> names;
    for (const TreeSpan& span : tree_.spans) names.insert(span.service);
    return names.size();
  }

  size_t errors() const {
    return static_cast<size_t>(
        std::count_if(tree_.spans.begin(), tree_.spans.end(), [](auto& span) { return span.error(); }));
  }

  void line(size_t index) {
    const TreeLine& line = tree_.lines[index];
    if (line.kind == LineKind::kSpan) {
      span_line(index, tree_.spans[line.span]);
    } else {
      finish(blank_numbers(), branches(index) + note(line), kDim);
    }
  }

  void span_line(size_t index, const TreeSpan& span) {
    uint64_t offset = span.start_unix_nano - tree_.start_unix_nano;
    std::string numbers = pad_to_width("+" + format_duration(offset), number_width_, Align::kRight) +
                          pad_to_width(format_duration(span.duration_nano), number_width_, Align::kRight) + "  \u2502" +
                          time_bar(offset, span.duration_nano, tree_.duration_nano, kSpanBarWidth) + "\u2502  ";
    finish(numbers, branches(index) + label(span), span.error() ? kRed : nullptr);
    if (options_.attributes) details(index, span);
  }

  std::string blank_numbers() const { return std::string(2 * number_width_ + kSpanBarWidth + 6, ' '); }

  void finish(const std::string& numbers, const std::string& text, const char* colour) {
    size_t used = display_width(numbers);
    bool fits =
        options_.columns == 0 || options_.columns < used + 20;  // too narrow to cut sensibly: the terminal wraps
    add(numbers, fits ? text : cut_to_width(text, options_.columns - used), colour);
  }

  void add(const std::string& numbers, const std::string& text, const char* colour) {
    bool coloured = options_.colour && colour != nullptr;
    out_ += numbers + (coloured ? colour + text + kColourOff : text) + "\n";
  }

  std::string label(const TreeSpan& span) const {
    std::string text = name_text(span.service) + "  " + name_text(span.operation);
    if (!span.name.empty()) text += " (" + printable(span.name) + ")";
    if (is_worth_saying(span.kind)) text += "  [" + span.kind + "]";
    if (span.error()) text += "  [error" + error_message(span) + "]";
    if (span.conflicting) text += "  [another span has this id too]";
    return text;
  }

  // Who calls whom; what is within a program needs no word, and what no server says is not printed.
  static bool is_worth_saying(std::string_view kind) {
    return kind == "server" || kind == "client" || kind == "producer" || kind == "consumer";
  }

  static std::string error_message(const TreeSpan& span) {
    std::string message = text_of(*span.source, "status_message");
    return message.empty() ? "" : ": " + short_value_text(member_of(*span.source, "status_message"));
  }

  std::string note(const TreeLine& line) const {
    if (line.kind == LineKind::kCycle) return "(a circle: the spans below are their own ancestors)";
    return "(parent " + printable(tree_.spans[line.span].parent_span_id) + " is missing)";
  }

  // The lines that lead to a line from above, and with `own` its own connector.
  std::string branches(size_t index, bool own = true) const {
    const TreeLine& line = tree_.lines[index];
    if (line.depth > kDeepestDrawn) return "(depth " + std::to_string(line.depth) + ") ";
    std::string text;
    if (line.depth > 0) text = own ? (line.last_sibling ? "\u2514\u2500 " : "\u251c\u2500 ") : continuation(line);
    for (size_t at = line.above; at != TreeLine::kNone && tree_.lines[at].depth > 0; at = tree_.lines[at].above) {
      text = continuation(tree_.lines[at]) + text;
    }
    return text;
  }

  static std::string continuation(const TreeLine& line) { return line.last_sibling ? "   " : "\u2502  "; }

  // Never cut to the terminal: who asks for values wants them.
  void details(size_t index, const TreeSpan& span) {
    std::string before = branches(index, false) + "    ";
    for (const DetailLine& line : span_details(*span.source)) {
      std::string offset = line.at_unix_nano ? event_offset(span, *line.at_unix_nano) : "";
      std::string blanks(kSpanBarWidth + 6 + number_width_, ' ');
      add(pad_to_width(offset, number_width_, Align::kRight) + blanks, before + line.text, kDim);
    }
  }

  // Relative to the request, like the spans'; the event's time is by the clock of the span's sender.
  std::string event_offset(const TreeSpan& span, uint64_t at_unix_nano) const {
    auto sent = static_cast<__int128>(number_of(*span.source, "start_time_unix_nano"));
    __int128 offset = static_cast<__int128>(at_unix_nano) - sent + span.start_unix_nano - tree_.start_unix_nano;
    auto size = static_cast<uint64_t>(std::min<__int128>(offset < 0 ? -offset : offset, UINT64_MAX));
    return (offset < 0 ? "-" : "+") + format_duration(size);
  }

  void resources() {
    if (!options_.attributes || tree_.document == nullptr) return;
    const boost::json::array& resources = array_of(*tree_.document, "resources");
    for (size_t i = 0; i < resources.size(); ++i) {
      out_ += "\nresource " + std::to_string(i) + "\n";
      for (const std::string& line : resource_lines(resources[i])) add("  ", line, kDim);
    }
  }

  const TraceTree& tree_;
  const TraceTextOptions& options_;
  size_t number_width_;
  std::string out_;
};

}  // namespace

std::string time_bar(uint64_t offset_nano, uint64_t duration_nano, uint64_t total_nano, size_t width) {
  Wide total = std::max<uint64_t>(total_nano, 1);
  size_t first = static_cast<size_t>(std::min<Wide>(Wide(offset_nano) * width / total, width - 1));
  Wide end = (Wide(offset_nano) + duration_nano) * width;
  size_t past = static_cast<size_t>(std::min<Wide>((end + total - 1) / total, width));
  past = std::max(past, first + 1);
  std::string bar(first, ' ');
  for (size_t i = first; i < past; ++i) bar += "\u2501";
  return bar + std::string(width - past, ' ');
}

std::string trace_text(const TraceTree& tree, const TraceTextOptions& options) {
  return TraceWriter(tree, options).write();
}

}  // namespace fathom::cli
