// The bytes of a SlowList: docs/formats/index.md.
#include <algorithm>

#include "base/bytes.h"
#include "store/index/distinct_traces.h"
#include "store/index/slow_list.h"

namespace fathom::store {
namespace {

constexpr uint8_t kSlowListVersion = 1;
constexpr uint8_t kVersionMask = 0x0f;
constexpr uint8_t kTruncated = 0x10;
constexpr uint8_t kSpans = 0x20;         // entries carry span ids
constexpr uint8_t kOneOperation = 0x40;  // all entries have one operation, written once
constexpr uint8_t kUnknown = 0x80;

// What a list's entries share, so that an entry stores the difference only.
struct Shared {
  uint64_t start_unix_nano = UINT64_MAX;
  uint64_t first_sequence = UINT64_MAX;
  uint32_t operation = 0;
  uint8_t flags = kSlowListVersion;
};

Shared shared_by(const SlowList& list) {
  Shared shared;
  if (list.truncated) shared.flags |= kTruncated;
  if (list.entries.empty()) return shared;
  shared.operation = list.entries.front().operation;
  shared.flags |= kOneOperation;
  for (const SlowEntry& entry : list.entries) {
    shared.start_unix_nano = std::min(shared.start_unix_nano, entry.start_unix_nano);
    shared.first_sequence = std::min(shared.first_sequence, entry.first_sequence);
    if (entry.operation != shared.operation) shared.flags &= ~kOneOperation;
    if (!entry.span_id.is_zero()) shared.flags |= kSpans;
  }
  return shared;
}

void write_entry(ByteWriter& writer, const Shared& shared, const SlowEntry& entry, uint64_t shorter_nano) {
  writer.varint(shorter_nano);
  writer.varint(entry.start_unix_nano - shared.start_unix_nano);
  writer.raw(entry.trace_id.view());
  if (shared.flags & kSpans) writer.raw(entry.span_id.view());
  writer.varint(entry.first_sequence - shared.first_sequence);
  // Twice the operation plus the error fits 33 bits.
  uint64_t operation = shared.flags & kOneOperation ? 0 : entry.operation;
  writer.varint(operation << 1 | entry.error);
}

template <typename IdType>
void read_id(ByteReader& reader, IdType& id) {
  std::string_view raw = reader.raw(id.bytes.size());
  if (!raw.empty()) std::memcpy(id.bytes.data(), raw.data(), raw.size());
}

// Sums and differences that leave 64 bits are forged.
uint64_t checked_add(ByteReader& reader, uint64_t base, uint64_t more) {
  return base + more < base ? reader.fail() : base + more;
}

SlowEntry read_entry(ByteReader& reader, const Shared& shared, uint64_t longer_nano) {
  SlowEntry entry;
  uint64_t shorter = reader.varint();
  entry.duration_nano = shorter > longer_nano ? reader.fail() : longer_nano - shorter;
  entry.start_unix_nano = checked_add(reader, shared.start_unix_nano, reader.varint());
  read_id(reader, entry.trace_id);
  if (shared.flags & kSpans) read_id(reader, entry.span_id);
  entry.first_sequence = checked_add(reader, shared.first_sequence, reader.varint());
  uint64_t operation = reader.varint();
  if (operation >> 1 > (shared.flags & kOneOperation ? 0 : UINT32_MAX)) reader.fail();
  entry.operation = shared.flags & kOneOperation ? shared.operation : static_cast<uint32_t>(operation >> 1);
  entry.error = operation & 1;
  return entry;
}

uint64_t read_shared(ByteReader& reader, Shared& shared) {
  uint64_t longest_nano = reader.varint();
  shared.start_unix_nano = reader.varint();
  shared.first_sequence = reader.varint();
  if (shared.flags & kOneOperation) shared.operation = reader.varint32();
  return longest_nano;
}

// Entries that break the order, or stand for the same trace, would break what merge() relies on.
bool read_entries(ByteReader& reader, Shared& shared, size_t size, std::vector<SlowEntry>& entries) {
  entries.reserve(size);
  DistinctTraces traces(entries);
  uint64_t longer_nano = read_shared(reader, shared);
  for (size_t i = 0; i < size; ++i) {
    SlowEntry entry = read_entry(reader, shared, longer_nano);
    if (reader.failed() || (i > 0 && !slower(entries.back(), entry))) return false;
    if (entry.span_id.is_zero() && !traces.insert(entry.trace_id)) return false;
    longer_nano = entry.duration_nano;
    entries.push_back(entry);
  }
  return true;
}

}  // namespace

void SlowList::encode(std::string& out) const {
  ByteWriter writer(out);
  Shared shared = shared_by(*this);
  writer.u8(shared.flags);
  if (truncated) writer.varint(floor_nano);
  writer.varint(entries.size());
  if (entries.empty()) return;
  uint64_t longer_nano = entries.front().duration_nano;
  writer.varint(longer_nano);
  writer.varint(shared.start_unix_nano);
  writer.varint(shared.first_sequence);
  if (shared.flags & kOneOperation) writer.varint(shared.operation);
  for (const SlowEntry& entry : entries) {
    write_entry(writer, shared, entry, longer_nano - entry.duration_nano);
    longer_nano = entry.duration_nano;
  }
}

Result<SlowList> SlowList::decode(std::string_view in) {
  ByteReader reader(in);
  Shared shared;
  shared.flags = reader.u8();
  if ((shared.flags & kVersionMask) != kSlowListVersion || shared.flags & kUnknown) {
    return corrupt("slow list: a version that this program does not know");
  }
  SlowList list;
  list.truncated = shared.flags & kTruncated;
  if (list.truncated) list.floor_nano = reader.varint();
  uint64_t size = reader.varint();
  if (size > kCapacity) return corrupt("slow list: too many entries");
  if (size > 0 && !read_entries(reader, shared, size, list.entries))
    return corrupt("slow list: an entry that cannot be");
  if (reader.failed() || !reader.at_end()) return corrupt("slow list: not the length that it says");
  return list;
}

}  // namespace fathom::store
