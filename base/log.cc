#include "base/log.h"

#include <atomic>
#include <string>

#include <unistd.h>

#include "base/journal.h"
#include "base/time.h"

namespace fathom {

namespace {

std::atomic<LogLevel> lowest_level{LogLevel::kInfo};

std::string_view level_name(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
  }
  return "error";
}

}  // namespace

void set_log_level(LogLevel lowest) {
  lowest_level.store(lowest, std::memory_order_relaxed);
}

void log(LogLevel level, std::string_view message) {
  if (level < lowest_level.load(std::memory_order_relaxed)) return;
  std::string line = stderr_is_journal() ? std::string(journal_prefix(level)) : format_instant(now_unix_nano()) + " ";
  line.append(level_name(level)).append(" ").append(message).append("\n");
  // One write per line keeps lines of several threads apart; a full or closed standard error is nobody's fault here.
  [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace fathom
