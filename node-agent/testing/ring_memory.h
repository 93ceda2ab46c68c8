// A ring of the kernel recorder in plain memory, written step by step as the BPF programs write theirs.
//
// Thread safety: one writer beside any readers. Ownership: owns the memory that view() shows.
#pragma once

#include <cstdint>
#include <vector>

#include "node-agent/kernel/record_layout.h"
#include "node-agent/kernel/ring_reader.h"

namespace fathom::agent::kernel::testing {

class RingMemory {
 public:
  explicit RingMemory(uint64_t capacity) : records_(capacity) {}

  RingView view() const { return {&header_, records_.data(), records_.size()}; }
  RingHeader& header() { return header_; }

  // The three steps of a write; the record's number, from 1.
  uint64_t reserve() { return __atomic_fetch_add(&header_.reserved, 1, __ATOMIC_SEQ_CST) + 1; }
  void fill(uint64_t number, const Record& payload) {
    uint64_t* to = words(number);
    const auto* from = reinterpret_cast<const uint64_t*>(&payload);
    for (size_t i = 1; i < sizeof(Record) / 8; ++i) __atomic_store_n(to + i, from[i], __ATOMIC_RELAXED);
  }
  void commit(uint64_t number) { __atomic_store_n(words(number), number, __ATOMIC_RELEASE); }

  uint64_t write(const Record& payload) {
    const uint64_t number = reserve();
    fill(number, payload);
    commit(number);
    return number;
  }

 private:
  uint64_t* words(uint64_t number) {
    return reinterpret_cast<uint64_t*>(&records_[(number - 1) & (records_.size() - 1)]);
  }
  RingHeader header_{};
  std::vector<Record> records_;
};

inline Record record_at(uint64_t monotonic_nano, uint16_t kind = kRecordWake) {
  Record record{};
  record.monotonic_nano = monotonic_nano;
  record.kind = kind;
  return record;
}

}  // namespace fathom::agent::kernel::testing
