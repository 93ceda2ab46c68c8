#include "cli/next_steps.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "cli/pages.h"
#include "cli/shell_word.h"
#include "cli/text.h"
#include "cli/value_text.h"

namespace fathom::cli {

namespace {

constexpr uint64_t kLookedAt = 200;  // of the slowest ones
constexpr size_t kNamed = 3;
constexpr uint64_t kAroundNano = kNanosPerHour;

constexpr uint64_t kNanosPerMilli = 1'000'000;
constexpr uint64_t kHintedSteps = 50'000;  // some seconds; whoever waits for a lock is told at once
constexpr size_t kNone = TreeLine::kNone;

void take_longer(size_t& longest, size_t candidate, const std::vector<TreeSpan>& spans) {
  if (longest == kNone || spans[candidate].duration_nano > spans[longest].duration_nano) longest = candidate;
}

bool has_more(const boost::json::value& row) {
  return number_of(row, "captures") > 0 || number_of(row, "snapshots") > 0;
}

std::string line_of(const boost::json::value& row) {
  const bool recorded = number_of(row, "snapshots") > 0;
  return pad_to_width(format_duration(number_of(row, "duration_nano")), 10, Align::kRight) +
         (recorded ? "  recorded: fathom trace    " : "  captured: fathom timeline ") +
         printable(text_of(row, "trace_id")) + "\n";
}

Target likes_of(const TreeSpan& root) {
  const uint64_t start = root.start_unix_nano;
  Target target("/api/v1/slowest");
  target.add("service", root.service).add("operation", root.operation);
  target.add("from", format_instant(start - std::min(start, kAroundNano)));
  target.add("to", format_instant(start + std::min(UINT64_MAX - start, kAroundNano)));
  return target.add("by", "trace");
}

std::string likes_note(const Api& api, const TraceTree& tree, const TreeSpan& root) {
  Result<boost::json::array> rows = fetch_pages(api, likes_of(root), "rows", kLookedAt);
  if (!rows) return "";
  std::string lines;
  size_t named = 0;
  for (const boost::json::value& row : *rows) {
    if (named == kNamed) break;
    if (!has_more(row) || flag_of(row, "stepped") || text_of(row, "trace_id") == tree.trace_id) continue;
    lines += line_of(row);
    ++named;
  }
  const std::string whose = name_text(root.operation) + " of " + name_text(root.service);
  const std::string where = "among the " + group_digits(rows->size()) + " slowest within an hour of it";
  if (named == 0) return "no request with " + whose + " has more, " + where + "\n";
  return "requests with " + whose + " that have more, " + where + ":\n" + lines;
}

// The root that took longest; a span whose parent is missing is one.
size_t longest_root(const TraceTree& tree) {
  size_t root = kNone;
  for (const TreeLine& line : tree.lines) {
    const bool top = line.above == kNone || tree.lines[line.above].kind != LineKind::kSpan;
    if (line.kind == LineKind::kSpan && top) take_longer(root, line.span, tree.spans);
  }
  return root;
}

std::vector<size_t> longest_children(const TraceTree& tree) {
  std::vector<size_t> longest(tree.spans.size(), kNone);
  for (const TreeLine& line : tree.lines) {
    if (line.kind != LineKind::kSpan || line.above == kNone) continue;
    const TreeLine& above = tree.lines[line.above];
    if (above.kind == LineKind::kSpan) take_longer(longest[above.span], line.span, tree.spans);
  }
  return longest;
}

}  // namespace

size_t hot_span(const TraceTree& tree) {
  size_t hot = longest_root(tree);
  if (hot == kNone) return kNone;
  const std::vector<size_t> children = longest_children(tree);
  auto takes_half = [&](size_t child) {
    return child != kNone && tree.spans[child].duration_nano >= tree.spans[hot].duration_nano / 2;
  };
  while (takes_half(children[hot])) hot = children[hot];
  return hot;
}

std::string record_hint(const TraceTree& tree) {
  const size_t hot = hot_span(tree);
  if (hot == kNone) return "";
  const TreeSpan& span = tree.spans[hot];
  const uint64_t half_millis = std::max<uint64_t>(span.duration_nano / 2 / kNanosPerMilli, 1);
  return "down to the lines of source, of the next one like it: COMMAND starts " + name_text(span.service) +
         " anew, by single steps\n  fathom record --span " + shell_word(span.operation) + " --min-duration " +
         std::to_string(half_millis) + "ms --threads all --steps " + std::to_string(kHintedSteps) +
         " -- COMMAND\n"
         "or, with Intel PT, of programs that run already: fathom up --pt (fathom doctor --pt says whether it works)\n";
}

std::string next_steps(const Api& api, const TraceTree& tree) {
  const size_t root = longest_root(tree);
  if (root == kNone) return "";
  return likes_note(api, tree, tree.spans[root]) + record_hint(tree);
}

}  // namespace fathom::cli
