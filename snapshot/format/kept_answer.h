// The file of a kept answer about a snapshot: a hash, and the answer (docs/formats/snapshot.md).
//
// Purpose: a damaged answer is worked out again and not given. Thread safety: pure functions. Errors: what has no hash,
// or a wrong one, is no answer; older versions wrote answers without a hash.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"

namespace fathom::snapshot {

std::string kept_answer_head(std::string_view answer);
std::optional<std::string> read_kept_answer(const Fd& file);

}  // namespace fathom::snapshot
