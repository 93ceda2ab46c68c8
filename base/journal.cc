#include "base/journal.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace fathom {

bool is_journal(const char* journal_stream, int descriptor) {
  struct stat about {};
  if (journal_stream == nullptr || ::fstat(descriptor, &about) != 0) return false;
  return std::to_string(about.st_dev) + ":" + std::to_string(about.st_ino) == journal_stream;
}

bool stderr_is_journal() {
  static const bool kIs = is_journal(std::getenv("JOURNAL_STREAM"), STDERR_FILENO);
  return kIs;
}

std::string_view journal_prefix(LogLevel level) {
  if (!stderr_is_journal()) return "";
  switch (level) {
    case LogLevel::kDebug:
      return "<7>";
    case LogLevel::kInfo:
      return "<6>";
    case LogLevel::kWarning:
      return "<4>";
    case LogLevel::kError:
      return "<3>";
  }
  return "<3>";
}

}  // namespace fathom
