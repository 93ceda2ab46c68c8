#include "node-agent/detail/tracepoint_table.h"

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "node-agent/detail/payload.h"

namespace fathom::agent {

namespace {

constexpr uint32_t kKinds = pool::kFirstTracepoint + pool::kMostTracepoints;
constexpr uint32_t kAlignment = 8;

struct EntryHead {
  uint32_t bytes;
  uint16_t kind;
  uint16_t line;
  uint16_t name_bytes;
  uint16_t file_bytes;
  uint16_t fields;
  uint16_t on;
};
static_assert(sizeof(EntryHead) == sizeof(pool::TracepointEntry));

uint32_t entry_bytes_at(std::string_view bytes, size_t at) {
  uint32_t word = 0;
  std::memcpy(&word, bytes.data() + at, sizeof word);
  return word;
}

bool is_type(uint8_t type) {
  return type >= static_cast<uint8_t>(pool::FieldType::kInt8) && type <= static_cast<uint8_t>(pool::FieldType::kBytes);
}

bool read_fields(ByteReader& reader, uint32_t count, std::vector<TracepointField>& fields) {
  for (uint32_t i = 0; i < count; ++i) {
    uint8_t type = reader.u8();
    size_t key_bytes = reader.u8();
    std::string_view key = reader.raw(key_bytes);
    if (reader.failed() || !is_type(type)) return false;
    fields.push_back({static_cast<pool::FieldType>(type), std::string(key)});
  }
  return true;
}

// Exactly as long as its texts and fields are, up to the padding.
bool read_entry(std::string_view bytes, Tracepoint& tracepoint) {
  EntryHead head;
  if (bytes.size() < sizeof head) return false;
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.kind < pool::kFirstTracepoint || head.kind >= kKinds || head.fields > pool::kMostFields) return false;
  ByteReader reader(bytes.substr(sizeof head));
  tracepoint.kind = head.kind;
  tracepoint.line = head.line;
  tracepoint.on = head.on != 0;
  tracepoint.name = reader.raw(head.name_bytes);
  tracepoint.file = reader.raw(head.file_bytes);
  return read_fields(reader, head.fields, tracepoint.fields) && !reader.failed() && reader.remaining() < kAlignment;
}

// Who only wants to know whether the values are there.
struct NoVisitor {
  void integer(int64_t) {}
  void natural(uint64_t) {}
  void real(double) {}
  void truth(bool) {}
  void text(std::string_view, bool) {}
};

}  // namespace

// Entries are filled in any order: behind one that is not there yet, others may be.
TracepointTable TracepointTable::decode(std::string_view first, std::string_view second) {
  TracepointTable table;
  second = second.substr(0, std::min(first.size(), second.size()));
  bool in_damage = false;
  for (size_t at = 0; at + sizeof(EntryHead) <= second.size();) {
    uint32_t bytes = entry_bytes_at(second, at);
    bool there =
        bytes != 0 && bytes % kAlignment == 0 && bytes <= second.size() - at && entry_bytes_at(first, at) == bytes;
    if (there && table.add(second.substr(at, bytes))) {
      in_damage = false;
      at += bytes;
      continue;
    }
    if (bytes != 0 && !in_damage) ++table.damaged_;
    in_damage = in_damage || bytes != 0;
    at += kAlignment;
  }
  return table;
}

bool TracepointTable::add(std::string_view entry) {
  Tracepoint tracepoint;
  if (!read_entry(entry, tracepoint)) return false;
  if (by_kind_.empty()) by_kind_.resize(kKinds);
  uint16_t& place = by_kind_[tracepoint.kind];
  if (place != 0) return true;
  tracepoints_.push_back(std::move(tracepoint));
  place = static_cast<uint16_t>(tracepoints_.size());
  return true;
}

bool TracepointTable::fits(uint32_t kind, std::string_view payload, bool exact) const {
  const Tracepoint* tracepoint = find(kind);
  if (tracepoint == nullptr) return false;
  ByteReader reader(payload);
  NoVisitor visitor;
  return read_values(*tracepoint, reader, visitor) && (exact ? reader.at_end() : reader.remaining() < kAlignment);
}

const Tracepoint* TracepointTable::find(uint32_t kind) const {
  if (kind >= by_kind_.size() || by_kind_[kind] == 0) return nullptr;
  return &tracepoints_[by_kind_[kind] - 1u];
}

}  // namespace fathom::agent
