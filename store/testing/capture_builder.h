// Captures for tests: made in a line, sent in one call.
//
// Purpose: headers with small numbers for ids, contents that depend on their seed alone, and uploads whose only
// interest is their outcome. Thread safety: pure functions.
#pragma once

#include <string>

#include "store/capture_store.h"
#include "store/testing/span_builder.h"

namespace fathom::store::testing {

CaptureId test_capture_id(uint64_t number);
NodeId test_node_id(uint64_t number);

// Of trace `number` % 7 + 1; its start counts from kTestNow.
CaptureInfo test_capture(uint64_t number, int64_t start_nano = 0);
// A report for trace `trace`, skipped `number` ns after kTestNow.
SkippedCapture test_skipped(uint64_t trace, uint64_t number = 0);
// Bytes that do not compress.
std::string test_content(uint64_t seed, size_t size);

// All of it in pieces of at most `piece` bytes; what begin(), an append() or finish() said first.
AppendResult send(CaptureStore& store, const CaptureInfo& info, const std::string& content, size_t piece = 1 << 20);
// The whole content, read in pieces; "(error)" with the error's name when it cannot be.
std::string read_all(CaptureStore& store, const CaptureId& id, size_t piece = 1 << 20);

}  // namespace fathom::store::testing
