// What a line on standard error begins with when systemd's journal reads it: how serious it is, as sd-daemon(3) has it.
//
// Purpose: `journalctl -p warning` finds our warnings, and no line has its time twice. Thread safety: plain functions.
#pragma once

#include <string_view>

#include "base/log.h"

namespace fathom {

// Whether `descriptor` is the stream that systemd named in JOURNAL_STREAM ("DEVICE:INODE"; null: there is none).
bool is_journal(const char* journal_stream, int descriptor);
// Of this process's standard error; asked once.
bool stderr_is_journal();

// "<4>" and the like where standard error is the journal, nothing elsewhere.
std::string_view journal_prefix(LogLevel level);

}  // namespace fathom
