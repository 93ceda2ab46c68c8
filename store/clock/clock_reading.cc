#include "store/clock/clock_reading.h"

#include "base/small_file.h"
#include "base/time.h"

namespace fathom::store {

namespace {

std::string read_boot_id() {
  Result<std::string> text = read_small_file("/proc/sys/kernel/random/boot_id", 256);
  if (!text) return "";
  return text->substr(0, text->find('\n'));
}

}  // namespace

ClockReading read_clocks() {
  static const std::string boot_id = read_boot_id();
  return {boot_id, now_boottime_nano(), now_unix_nano()};
}

}  // namespace fathom::store
