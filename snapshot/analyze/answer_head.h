// What every answer says beside its own: how the snapshot came to be, and what is missing of it.
//
// Purpose: one wording for tables, JSON and pictures: "engine: step, 812 times slower" and the gaps by reason. Thread
// safety: pure functions. Errors: none. Names of strangers are made harmless here.
#pragma once

#include <string>

#include "net/json_writer.h"
#include "snapshot/decode/analysis.h"
#include "snapshot/format/snapshot.h"

namespace fathom::snapshot {

// "engine: step, 812 times slower", "engine: intel pt"
std::string engine_text(const Snapshot& snapshot);

// Lines, each with its end: the engine, what was recorded, the trigger, losses, and that time is nominal. Known before
// anything is decoded.
std::string head_text(const Snapshot& snapshot);
// "gaps: none", or how many, by reason, and the first cause of each.
std::string gaps_text(const DecodeSummary& summary);

// Members of an object: "engine", "slowdown", "command", ..., "losses".
void head_json(net::JsonWriter& json, const Snapshot& snapshot);
// Members of an object: "instructions", "gaps": {"total", "reasons": [...]}.
void gaps_json(net::JsonWriter& json, const DecodeSummary& summary);

// One line below a picture.
std::string caption_text(const Snapshot& snapshot, const DecodeSummary& summary);

}  // namespace fathom::snapshot
