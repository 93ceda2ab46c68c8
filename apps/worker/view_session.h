// serve_view(): keeps one snapshot open, and answers asks about it until there are no more.
//
// Purpose: `fathom-worker view ID`, which a server starts for whoever looks into a snapshot, and ends when nobody has
// looked for a while: decoding takes seconds, and an answer then milliseconds. Asks are lines
// (snapshot/view/view_ask.h); each gets one answer: a line "ok BYTES", "not_found BYTES", "invalid BYTES" or "internal
// BYTES", and then so many bytes, a document or an error's words. docs/formats/view.md has it. Thread safety: one call
// per process. Errors: those of opening a snapshot; afterwards errors are answers.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"
#include "snapshot/format/directory.h"

namespace fathom {

inline constexpr size_t kMostAskBytes = 32 << 10;

struct ViewStreams {
  std::function<std::optional<std::string>()> ask;      // the next line; nothing: there are no more
  std::function<bool(std::string_view answer)> answer;  // false: nobody reads any more
};

Result<> serve_view(const snapshot::SnapshotDirectory& directory, const snapshot::SnapshotId& id,
                    const ViewStreams& streams);

// Lines of a descriptor. One that is too long ends it, as its end does.
class LineReader {
 public:
  explicit LineReader(int file) : file_(file) {}
  std::optional<std::string> next();

 private:
  int file_;
  std::string buffer_;
};

}  // namespace fathom
