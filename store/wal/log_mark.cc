#include "store/wal/log_mark.h"

#include "base/bytes.h"
#include "base/hash.h"

namespace fathom::store {

namespace {

constexpr std::string_view kMagic = "fathomWA";
constexpr size_t kHashedBytes = kLogMarkBytes - sizeof(uint64_t);

}  // namespace

std::string LogMark::encoded() const {
  std::string mark(kMagic);
  ByteWriter out(mark);
  out.u64(log);
  out.u64(salt);
  out.u64(records_end);
  out.u64(hash64(mark));
  return mark;
}

std::optional<LogMark> LogMark::at_end_of(std::string_view page) {
  if (page.size() < kLogMarkBytes) return std::nullopt;
  const std::string_view bytes = page.substr(page.size() - kLogMarkBytes);
  ByteReader in(bytes);
  const bool has_magic = in.raw(kMagic.size()) == kMagic;
  LogMark mark;
  mark.log = in.u64();
  mark.salt = in.u64();
  mark.records_end = in.u64();
  return has_magic && in.u64() == hash64(bytes.substr(0, kHashedBytes)) ? std::optional(mark) : std::nullopt;
}

}  // namespace fathom::store
