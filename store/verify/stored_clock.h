// stored_clock: the age clock in a data directory that no server uses.
//
// Purpose: verification and repair read DIR/clock without a server. Thread safety: plain functions. Errors: none; a
// file that cannot be read counts as missing.
#pragma once

#include <optional>
#include <string>

namespace fathom::store {

// The number in DIR/version of a directory whose first start has finished; otherwise nothing.
std::optional<int> finished_version(const std::string& path);

// Whether a missing file `clock` is damage.
bool must_have_clock(const std::string& path);

}  // namespace fathom::store
