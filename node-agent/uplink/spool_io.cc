#include "node-agent/uplink/spool_io.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "node-agent/uplink/spool_format.h"

namespace fathom::agent {

namespace {

using namespace spool_format;

constexpr const char* kSuffix = ".spool";
constexpr size_t kNameDigits = 16;

}  // namespace

std::optional<uint64_t> spool_file_number(const std::string& name) {
  if (name.size() != kNameDigits + std::strlen(kSuffix) || !name.ends_with(kSuffix)) return std::nullopt;
  uint64_t number = 0;
  for (char digit : name.substr(0, kNameDigits)) {
    int value = digit >= '0' && digit <= '9' ? digit - '0' : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
    if (value < 0) return std::nullopt;
    number = number << 4 | static_cast<uint64_t>(value);
  }
  return number;
}

std::string spool_file_name(uint64_t number) {
  char name[40];
  std::snprintf(name, sizeof name, "%016" PRIx64 "%s", number, kSuffix);
  return name;
}

std::optional<std::string> read_at(const Fd& fd, uint64_t offset, size_t size) {
  std::string bytes(size, '\0');
  size_t have = 0;
  while (have < size) {
    ssize_t got = ::pread(fd.get(), bytes.data() + have, size - have, static_cast<off_t>(offset + have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    have += static_cast<size_t>(got);
  }
  bytes.resize(have);
  return bytes;
}

bool write_all(const Fd& fd, uint64_t offset, std::array<iovec, 3> parts) {
  size_t first = 0;
  while (first < parts.size()) {
    ssize_t put =
        ::pwritev(fd.get(), &parts[first], static_cast<int>(parts.size() - first), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    offset += static_cast<uint64_t>(put);
    for (auto left = static_cast<size_t>(put); first < parts.size();) {
      size_t step = std::min(left, parts[first].iov_len);
      parts[first].iov_base = static_cast<char*>(parts[first].iov_base) + step;
      parts[first].iov_len -= step;
      left -= step;
      if (parts[first].iov_len > 0) break;
      ++first;
    }
  }
  return true;
}

// Each step reads a head's length more than it looks at, so that no head lies across two of them.
std::optional<uint64_t> next_entry(const Fd& fd, uint64_t offset, uint64_t size) {
  constexpr size_t kStep = 64 * 1024;
  static_assert(kStep % kAlignment == 0);
  for (; offset + kEntryHeadBytes <= size; offset += kStep) {
    std::optional<std::string> bytes = read_at(fd, offset, kStep + kEntryHeadBytes);
    if (!bytes) return std::nullopt;
    for (size_t at = 0; at < kStep && at + kEntryHeadBytes <= bytes->size(); at += kAlignment) {
      if (std::memcmp(bytes->data() + at, &kEntryMagic, sizeof kEntryMagic) != 0) continue;
      std::optional<SpoolEntryHead> head = decode_entry_head(std::string_view(*bytes).substr(at));
      if (head && offset + at + head->total_bytes() <= size) return offset + at;
    }
  }
  return size;
}

}  // namespace fathom::agent
