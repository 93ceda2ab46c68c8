// Rings of calls by instruction count, as the paper's figure 4: the innermost ring is everything, each further one what
// the one within called.
//
// Thread safety: any. Errors: those of the snapshot. SVG: rings whose titles say the numbers. JSON: rows in depth-first
// order with their place on the ring, as parts of the whole. Table: the same as text.
#pragma once

#include "snapshot/analyze/call_answer.h"

namespace fathom::snapshot {

Result<> answer_sunburst(const SnapshotDirectory& directory, const Question& question, const Output& output);

std::string sunburst_table(const NamedCalls& calls, uint64_t limit);
void sunburst_json(net::JsonWriter& json, const NamedCalls& calls, uint64_t limit);
std::string sunburst_svg(const NamedCalls& calls, std::string_view caption);

}  // namespace fathom::snapshot
