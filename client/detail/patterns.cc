#include "client/detail/patterns.h"

#include "base/name_pattern.h"
#include "client/pool/layout.h"

namespace fathom::client::detail {
namespace {

struct List {
  std::atomic<uint16_t> size{0};
  char text[pool::kMostPatternBytes] = {};

  std::string_view get() const { return {text, size.load(std::memory_order_acquire)}; }
  void set(std::string_view list) {
    if (!list.empty()) std::memcpy(text, list.data(), list.size());  // of nothing, there may be no address
    size.store(static_cast<uint16_t>(list.size()), std::memory_order_release);
  }
};

// Read without a lock by those who meet a tracepoint: two sets by turns, and a version that says which.
struct Patterns {
  std::atomic<uint32_t> version{0};
  List lists[2][2];  // by version, by who says it
};
constinit Patterns patterns;

std::string_view next_pattern(std::string_view& rest) {
  size_t end = 0;
  while (end < rest.size() && rest[end] != ',') end++;
  const std::string_view pattern = part(rest, 0, end);
  rest = part(rest, end + 1);
  return pattern;
}

bool switched_by(std::string_view list, std::string_view name, bool on) {
  while (!list.empty()) {
    std::string_view pattern = next_pattern(list);
    const bool off = !pattern.empty() && pattern[0] == '-';
    if (off) pattern = part(pattern, 1);
    if (!pattern.empty() && fits_pattern(pattern, name)) on = !off;
  }
  return on;
}

}  // namespace

bool set_patterns(Says who, std::string_view list) {
  const int place = who == Says::kProgram ? 0 : 1;
  const uint32_t now = patterns.version.load(std::memory_order_relaxed);
  const List(&old)[2] = patterns.lists[now % 2];
  if (list.size() > pool::kMostPatternBytes || old[place].get() == list) return list.size() <= pool::kMostPatternBytes;
  List(&next)[2] = patterns.lists[(now + 1) % 2];
  next[place].set(list);
  next[1 - place].set(old[1 - place].get());
  patterns.version.store(now + 1, std::memory_order_seq_cst);
  return true;
}

uint32_t patterns_version() {
  return patterns.version.load(std::memory_order_seq_cst);
}

bool is_on(uint32_t version, std::string_view name, bool by_default) {
  const List(&lists)[2] = patterns.lists[version % 2];
  return switched_by(lists[1].get(), name, switched_by(lists[0].get(), name, by_default));
}

}  // namespace fathom::client::detail
