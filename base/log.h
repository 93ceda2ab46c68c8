// The program's log: one line per event on standard error, `level message key=value ...`, safe from any thread.
//
// Purpose: for operators; never on a hot path, never carrying users' attribute values.
#pragma once

#include <string_view>

namespace fathom {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

void set_log_level(LogLevel lowest);
void log(LogLevel level, std::string_view message);
inline void log_info(std::string_view message) {
  log(LogLevel::kInfo, message);
}
inline void log_warning(std::string_view message) {
  log(LogLevel::kWarning, message);
}
inline void log_error(std::string_view message) {
  log(LogLevel::kError, message);
}

}  // namespace fathom
