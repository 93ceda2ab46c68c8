#include "cli/next_steps.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "cli/pages.h"
#include "cli/shell_word.h"
#include "cli/span_details.h"
#include "cli/text.h"
#include "cli/value_text.h"

namespace fathom::cli {

namespace {

constexpr uint64_t kLookedAt = 200;  // of the slowest ones
constexpr size_t kMostSuggested = 3;
constexpr uint64_t kAroundNano = kNanosPerHour;

constexpr uint64_t kLeastBoundNano = kNanosPerMilli;  // what is shorter may be over before the recorder looks
constexpr uint64_t kHintedSteps = 50'000;             // some seconds; whoever waits for a lock is told at once
constexpr size_t kNone = TreeLine::kNone;

void take_longer(size_t& longest, size_t candidate, const std::vector<TreeSpan>& spans) {
  if (longest == kNone || spans[candidate].duration_nano > spans[longest].duration_nano) longest = candidate;
}

bool has_more(const boost::json::value& row) {
  return number_of(row, "captures") > 0 || number_of(row, "snapshots") > 0;
}

std::string suggestion_line(const boost::json::value& row) {
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
    if (named == kMostSuggested) break;
    if (!has_more(row) || flag_of(row, "stepped") || text_of(row, "trace_id") == tree.trace_id) continue;
    lines += suggestion_line(row);
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

bool is_call(const TreeSpan& span) {
  return span.kind == "client" || span.kind == "producer";
}

// Half of what the span took, so that one like it is still open then. 0: too short for a bound.
uint64_t bound_nano_of(const TreeSpan& span) {
  const uint64_t half = span.duration_nano / 2;
  return half < kLeastBoundNano ? 0 : half;
}

// Whether the time of a span went into this child: most of it, or what was called has any worth a bound: the rest of a
// call is its way, and its waiting for a thread.
bool leads_on(const TreeSpan& above, const TreeSpan& child) {
  if (is_call(above) && bound_nano_of(child) > 0) return true;
  return child.duration_nano >= above.duration_nano / 2;
}

// From the root to where most of the time went.
std::vector<size_t> hot_path(const TraceTree& tree) {
  std::vector<size_t> path;
  const std::vector<size_t> children = longest_children(tree);
  for (size_t at = longest_root(tree); at != kNone; at = children[at]) {
    if (!path.empty() && !leads_on(tree.spans[path.back()], tree.spans[at])) break;
    path.push_back(at);
  }
  return path;
}

std::string sdk_of(const TraceTree& tree, const TreeSpan& span) {
  if (tree.document == nullptr) return "";
  return text_of(member_of(resource_of(*tree.document, *span.source), "attributes"), "telemetry.sdk.name");
}

bool is_recordable(const TraceTree& tree, const TreeSpan& span) {
  return !is_call(span) && sdk_of(tree, span) == "fathom";
}

std::string anew(const TreeSpan& span) {
  return "COMMAND starts " + name_text(span.service) + " anew, by single steps\n";
}

std::string command_words(const std::string& what) {
  return "  fathom record " + what + " --threads all --steps " + std::to_string(kHintedSteps) + " -- COMMAND\n";
}

std::string span_words(const TreeSpan& span) {
  const std::string words = "--span " + shell_word(span.name.empty() ? span.operation : span.name);
  const uint64_t millis = bound_nano_of(span) / kNanosPerMilli;
  return words + (millis == 0 ? "" : " --min-duration " + std::to_string(millis) + "ms");
}

std::string function_hint(const TreeSpan& span) {
  return "down to the lines of source: most of the time is not in a span that 'fathom record --span' can record (of "
         "fathom's client, and no call); so name a function of the program: " +
         anew(span) + command_words("--function FUNCTION");
}

}  // namespace

size_t recordable_span(const TraceTree& tree) {
  const std::vector<size_t> path = hot_path(tree);
  const auto found =
      std::find_if(path.rbegin(), path.rend(), [&](size_t at) { return is_recordable(tree, tree.spans[at]); });
  return found == path.rend() ? kNone : *found;
}

std::string record_hint(const TraceTree& tree) {
  const size_t root = longest_root(tree);
  if (root == kNone) return "";
  const size_t chosen = recordable_span(tree);
  const std::string steps = chosen == kNone
                                ? function_hint(tree.spans[hot_path(tree).back()])
                                : "down to the lines of source, of the next one like it: " + anew(tree.spans[chosen]) +
                                      command_words(span_words(tree.spans[chosen]));
  return steps +
         "or, with Intel PT, of programs that run already: fathom up --pt (fathom doctor --pt says whether it "
         "works)\n";
}

std::string next_steps(const Api& api, const TraceTree& tree) {
  const size_t root = longest_root(tree);
  if (root == kNone) return "";
  return likes_note(api, tree, tree.spans[root]) + record_hint(tree);
}

}  // namespace fathom::cli
