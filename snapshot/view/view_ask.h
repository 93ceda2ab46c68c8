// ViewAsk: one question to a snapshot that is open, as a line of words: "calls thread=0 from=0 to=5000 columns=900".
//
// Purpose: what a server sends to a worker that keeps a snapshot open (docs/formats/view.md); text is in hexadecimal
// digits, so that a line stays a line. Thread safety: pure functions. Units: offsets, as the answer's `unit`. Errors:
// kInvalid, naming the word.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "snapshot/view/call_tile.h"

namespace fathom::snapshot {

enum class ViewVerb : uint8_t { kThreads, kCalls, kInsns, kStack, kFind, kSource };

struct ViewAsk {
  static constexpr uint64_t kMostRows = 500;
  static constexpr uint64_t kMostColumns = 4096;
  static constexpr uint64_t kMostDepths = 256;
  static constexpr int64_t kMostOffset = (1LL << 53) - 1;  // what a number of JSON holds
  static constexpr size_t kMostTextBytes = 4096;

  ViewVerb verb = ViewVerb::kThreads;
  uint64_t thread = 0;
  ViewAxis axis = ViewAxis::kTime;
  std::optional<int64_t> from;  // missing: from the beginning
  std::optional<int64_t> to;
  std::optional<int64_t> at;  // of kInsns: instead of a row
  uint64_t columns = 1000;
  uint64_t first_depth = 0;
  uint64_t depths = 64;
  uint64_t row = 0;
  uint64_t count = 100;
  std::optional<uint64_t> depth;  // of kStack: which call is meant; missing: the innermost
  std::string function;           // of kFind: one of both
  std::string text;               // of kSource: a file's name
  bool backwards = false;
};

Result<ViewAsk> parse_view_ask(std::string_view line);

}  // namespace fathom::snapshot
