// Whatever a server answers: the command line draws it without a crash, and without a character that a terminal obeys.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "cli/api.h"
#include "cli/captures.h"
#include "cli/heatmap.h"
#include "cli/node_flags.h"
#include "cli/slowest.h"
#include "cli/text.h"
#include "cli/timeline_text.h"
#include "cli/trace_text.h"
#include "cli/trace_tree.h"
#include "cli/tracepoint_table.h"

namespace fathom::cli {

namespace {

void require_harmless(std::string_view text) {
  while (!text.empty()) {
    CodePoint point = take_code_point(text);
    bool control = point.value < 0x20 || (point.value >= 0x7f && point.value < 0xa0);
    if (!point.valid || (control && point.value != '\n')) std::abort();
  }
}

void draw_trace(const boost::json::value& document) {
  TraceTree tree = build_trace_tree(document);
  size_t spans = 0;
  for (const TreeLine& line : tree.lines) spans += line.kind == LineKind::kSpan ? 1 : 0;
  if (spans != tree.spans.size()) std::abort();  // every span stands on exactly one line
  require_harmless(trace_text(tree, {100, false, true, 0}));
}

}  // namespace

void draw(std::string_view text) {
  require_harmless(printable(text));
  require_harmless(cut_to_width(printable(text), 10));
  auto document = parse_json(text);
  if (!document) return;
  auto again = parse_json(json_safe(text));
  if (!again || *again != *document) std::abort();
  draw_trace(*document);
  require_harmless(slowest_table(array_of(*document, "rows"), true, 80));
  require_harmless(heatmap_text(*document, 80));
  require_harmless(tracepoint_table(array_of(*document, "nodes"), 80));
  require_harmless(node_notes(array_of(*document, "nodes"), "failure"));
  require_harmless(timeline_text(*document, {100, false, 10}));
  require_harmless(captures_table(array_of(*document, "captures"), 80));
  require_harmless(captures_note(*document));
}

}  // namespace fathom::cli

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fathom::cli::draw({reinterpret_cast<const char*>(data), size});
  return 0;
}
