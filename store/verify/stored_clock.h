// stored_clock: the age clock in a data directory that no server uses.
//
// Purpose: verification and repair read DIR/clock without a server. Thread safety: plain functions. Errors: none; a
// file that cannot be read counts as missing.
#pragma once

#include <optional>
#include <string>

#include "store/clock/age_time.h"
#include "store/verify/findings.h"

namespace fathom::store {

// The number in DIR/version of a directory whose first start has finished; otherwise nothing.
std::optional<int> finished_version(const std::string& path);

// Whether a missing file `clock` is damage.
bool must_have_clock(const std::string& path);

// The state in DIR/clock, unless it is missing, damaged or the first state.
std::optional<AgeState> stored_age_state(const std::string& path);
// Whether no age clock ran yet: the directory is older, or its upgrade was interrupted.
bool has_unix_stamps(const std::string& path);
// To convert stamps to Unix time. Where there is no state, stamps count as Unix times.
AgeTime stored_age_time(const std::string& path);
// The findings show times of reception by this clock, and have a note if it is missing or damaged.
void use_stored_clock(const std::string& path, Findings& findings);

}  // namespace fathom::store
