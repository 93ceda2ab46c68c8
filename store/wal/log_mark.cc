#include "store/wal/log_mark.h"

#include "base/bytes.h"
#include "base/hash.h"

namespace fathom::store {

namespace {

constexpr std::string_view kMagic = "fathomWA";
constexpr size_t kHashedBytes = kLogMarkBytes - sizeof(uint64_t);

}  // namespace

std::string log_mark(uint64_t log, uint64_t records_end) {
  std::string mark(kMagic);
  ByteWriter out(mark);
  out.u64(log);
  out.u64(records_end);
  out.u64(hash64(mark));
  return mark;
}

std::optional<uint64_t> records_end_in(std::string_view page, uint64_t log) {
  if (page.size() < kLogMarkBytes) return std::nullopt;
  const std::string_view mark = page.substr(page.size() - kLogMarkBytes);
  ByteReader in(mark);
  const bool is_mark = in.raw(kMagic.size()) == kMagic && in.u64() == log;
  const uint64_t records_end = in.u64();
  return is_mark && in.u64() == hash64(mark.substr(0, kHashedBytes)) ? std::optional(records_end) : std::nullopt;
}

}  // namespace fathom::store
