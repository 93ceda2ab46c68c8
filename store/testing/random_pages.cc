#include "store/testing/random_pages.h"

#include <set>

#include "store/model/span_text.h"
#include "store/testing/random_answers.h"

namespace fathom::store::testing {

namespace {

constexpr size_t kMostPages = 10'000;

std::string facts_of(const StoredTrace& page) {
  return "start=" + std::to_string(page.start_unix_nano) + " duration=" + std::to_string(page.duration_nano) +
         (page.complete ? " complete" : " incomplete") + (page.oversized ? " oversized\n" : "\n");
}

// Spans that are alike in start and id may come on one page beyond its limit.
bool is_too_large(const StoredTrace& page, size_t limit) {
  if (!page.oversized || page.spans.size() <= limit) return false;
  const auto place = [](const StoredSpan& span) {
    return std::pair(corrected_start_unix_nano(span), span.span.span_id);
  };
  return place(page.spans[limit - 1]) != place(page.spans.back());
}

// Equal rows of a page may become one while pages are read.
std::set<std::string> lines_of(const StoredTrace& page) {
  std::set<std::string> lines;
  for (const StoredSpan& span : page.spans) lines.insert(stored_text(span));
  return lines;
}

}  // namespace

std::string trace_pages_text(SpanStore& store, const TraceId& id, size_t limit) {
  QueryBudget budget;
  std::set<std::string> lines;
  std::optional<TraceCursor> after;
  std::string facts, faults;
  for (size_t pages = 0; pages < kMostPages; ++pages) {
    Result<StoredTrace> page = store.trace_page(id, after, limit, budget);
    if (!page) return error_text(page.error());
    if (facts.empty()) facts = facts_of(*page);
    if (facts != facts_of(*page)) faults += "pages tell of different traces\n";
    if (is_too_large(*page, limit)) faults += "a page is too large\n";
    lines.merge(lines_of(*page));
    if (page->spans_at_most < lines.size()) faults += "more spans than there are at most\n";
    if (!page->next) break;
    after = page->next;
  }
  for (const std::string& line : lines) facts += line + "\n";
  return facts + faults;
}

}  // namespace fathom::store::testing
