#include "snapshot/record/step/span_pool_view.h"

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/name_pattern.h"
#include "base/time.h"
#include "snapshot/record/step/proc_maps.h"

namespace fathom::snapshot::step {
namespace {

constexpr uint64_t kShortestPollNano = 200'000;
constexpr uint64_t kLongestPollNano = 5'000'000;
constexpr uint64_t kLookAgainNano = 50'000'000;  // for the pool, which comes some time after the program's begin

bool read_memory(pid_t pid, uint64_t address, void* to, size_t bytes) {
  const iovec here{to, bytes};
  const iovec there{reinterpret_cast<void*>(address), bytes};  // NOLINT(performance-no-int-to-ptr): of another process
  return ::process_vm_readv(pid, &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
}

template <typename T>
T field(const uint8_t* bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes + offset, sizeof value);
  return value;
}

// The beginning is all there is of a name that is longer.
bool is_named(const uint8_t* level, std::string_view name) {
  const size_t bytes = field<uint16_t>(level, offsetof(pool::OpenSpan, name_bytes));
  if (name.find('*') != std::string_view::npos) {
    const char* begin = reinterpret_cast<const char*>(level + offsetof(pool::OpenSpan, name));
    return fits_pattern(name, {begin, std::min(bytes, sizeof pool::OpenSpan::name)});
  }
  const size_t kept = std::min(name.size(), sizeof pool::OpenSpan::name);
  return bytes == name.size() && std::memcmp(level + offsetof(pool::OpenSpan, name), name.data(), kept) == 0;
}

}  // namespace

uint64_t span_poll_nano(uint64_t least_nano) {
  return std::clamp(least_nano / 20, kShortestPollNano, kLongestPollNano);
}

std::string no_span(const std::string& operation, uint64_t least_nano) {
  std::string text = "no span '" + operation + "' was open";
  if (least_nano != 0) text += " for " + format_duration(least_nano);
  return text + " in the program (spans of fathom's client that are active in a thread are seen)";
}

uint64_t SpanPoolView::age_nano(const OpenSpanPlace& place, const TscClock& clock) const {
  const uint64_t now = ticks_are_tsc() ? read_tsc() : now_monotonic_nano();
  const uint64_t ticks = now - std::min(now, place.start_ticks);
  return ticks_are_tsc() ? static_cast<uint64_t>(static_cast<double>(ticks) / clock.ticks_per_nano()) : ticks;
}

bool SpanPoolView::is_open(const OpenSpanPlace& place) const {
  uint64_t now = 0;
  return read_memory(pid_, place.start_address, &now, sizeof now) && now == place.start_ticks;
}

bool SpanPoolView::take(uint64_t address) {
  static_assert(offsetof(Header, thread_slots) == offsetof(pool::Header, thread_slots));
  if (!read_memory(pid_, address, &header_, sizeof header_)) return false;
  const bool known = header_.magic == pool::kMagic && header_.version == pool::kVersion &&
                     header_.thread_slots <= pool::kMostThreadSlots &&
                     header_.chunks_offset >= pool::open_area_bytes(header_.thread_slots);
  if (known) address_ = address;
  return known;
}

// It is the memory file that begins with the pool's magic.
bool SpanPoolView::find() {
  if (address_ != 0) return true;
  const uint64_t now = now_monotonic_nano();
  if (now - looked_nano_ < kLookAgainNano) return false;
  looked_nano_ = now;
  return std::ranges::any_of(read_maps(pid_), [&](const MappedFile& map) {
    return map.file_offset == 0 && map.path.starts_with("/memfd:") && take(map.begin);
  });
}

void SpanPoolView::look_at(const uint8_t* slot, uint64_t address, std::string_view name,
                           std::vector<OpenSpanPlace>& found) const {
  const auto depth = field<uint32_t>(slot, offsetof(pool::ThreadSlot, depth));
  for (uint32_t i = 0; i < std::min(depth, pool::kOpenLevels); i++) {
    const size_t at = offsetof(pool::ThreadSlot, levels) + i * sizeof(pool::OpenSpan);
    const uint8_t* level = slot + at;
    OpenSpanPlace place;
    place.start_ticks = field<uint64_t>(level, offsetof(pool::OpenSpan, start_ticks));
    if (place.start_ticks == 0 || !is_named(level, name)) continue;
    place.tid = field<pid_t>(slot, offsetof(pool::ThreadSlot, owner_tid));
    place.start_address = address + at + offsetof(pool::OpenSpan, start_ticks);
    place.trace_id = field<TraceId>(level, offsetof(pool::OpenSpan, trace_id));
    place.span_id = field<SpanId>(level, offsetof(pool::OpenSpan, span_id));
    found.push_back(place);
  }
}

std::vector<OpenSpanPlace> SpanPoolView::open_spans(std::string_view name, pid_t tid) {
  std::vector<OpenSpanPlace> found;
  if (!find()) return found;
  const uint64_t area = address_ + header_.chunks_offset - pool::open_area_bytes(header_.thread_slots);
  uint32_t present = 0;
  if (!read_memory(pid_, area + offsetof(pool::TriggerPage, slots_present), &present, sizeof present)) return found;
  present = std::min(present, header_.thread_slots);
  const uint64_t slots_at = area + pool::kPageBytes;
  std::vector<uint8_t> slots(size_t{present} * sizeof(pool::ThreadSlot));
  if (slots.empty() || !read_memory(pid_, slots_at, slots.data(), slots.size())) return found;
  for (uint32_t i = 0; i < present; i++) {
    const size_t at = i * sizeof(pool::ThreadSlot);
    const auto owner = field<pid_t>(slots.data() + at, offsetof(pool::ThreadSlot, owner_tid));
    if (owner != 0 && (tid == 0 || owner == tid)) look_at(slots.data() + at, slots_at + at, name, found);
  }
  return found;
}

}  // namespace fathom::snapshot::step
