// SpanRecordView: a checked view of one span record of a program; ItemReader: iterates over the items of the span.
//
// Purpose: the only code that knows a record's bytes. Ownership: views point into the copy that the caller holds.
// Thread safety: plain values. Errors: read_span() is false for a malformed record; an ItemReader stops at the first
// item that does not fit, and failed() is then true. Hostility: every length is checked.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "client/pool/layout.h"

namespace fathom::agent {

struct SpanRecordView {
  pool::SpanRecord head;  // its lengths are checked, its other fields are the program's
  std::string_view name;
  std::string_view items;
  uint32_t tid = 0;  // the chunk's owner, on which the span ended, as the program sees it; 0: not known
};

// The first word of a record, taken apart.
struct RecordWord {
  uint32_t epoch;
  uint8_t type;
  uint32_t bytes;  // of the whole record
};
inline RecordWord take_apart(uint64_t word) {
  return {static_cast<uint32_t>(word), static_cast<uint8_t>(word >> 32), static_cast<uint32_t>(word >> 40) * 8};
}

// `record`: all bytes of one record, of which the first word is of type kSpan.
inline bool read_span(std::string_view record, SpanRecordView& span) {
  if (record.size() < sizeof span.head) return false;
  std::memcpy(&span.head, record.data(), sizeof span.head);
  std::string_view rest = record.substr(sizeof span.head);
  if (span.head.name_bytes > rest.size()) return false;
  span.name = rest.substr(0, span.head.name_bytes);
  rest.remove_prefix(span.head.name_bytes);
  if (span.head.item_bytes > rest.size()) return false;
  span.items = rest.substr(0, span.head.item_bytes);
  return true;
}

struct Item {
  pool::ItemTag tag{};
  pool::ItemType type{};
  std::string_view key;
  std::string_view value;
};

class ItemReader {
 public:
  explicit ItemReader(std::string_view items) : rest_(items) {}

  bool next(Item& item) {
    if (rest_.empty()) return false;
    pool::ItemHead head;
    if (rest_.size() < sizeof head) return fail();
    std::memcpy(&head, rest_.data(), sizeof head);
    size_t text_bytes = rest_.size() - sizeof head;
    if (head.key_bytes > text_bytes || head.value_bytes > text_bytes - head.key_bytes) return fail();
    item.tag = static_cast<pool::ItemTag>(head.tag);
    item.type = static_cast<pool::ItemType>(head.type);
    item.key = {rest_.data() + sizeof head, head.key_bytes};
    item.value = {rest_.data() + sizeof head + head.key_bytes, head.value_bytes};
    rest_.remove_prefix(sizeof head + head.key_bytes + head.value_bytes);
    return true;
  }
  bool failed() const { return failed_; }
  std::string_view rest() const { return rest_; }

 private:
  bool fail() {
    failed_ = true;
    rest_ = {};
    return false;
  }
  std::string_view rest_;
  bool failed_ = false;
};

}  // namespace fathom::agent
