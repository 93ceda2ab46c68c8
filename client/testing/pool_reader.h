// A small reader of span pools, for tests: what the agent does, without its cares.
//
// Purpose: takes records out of a pool of this process or of a file, as vectors of plain values, and frees chunks.
// Written from docs/formats/span-pool.md, independently of node-agent/. Thread safety: one reader per pool; the writers
// go on. Errors: whatever contradicts the format is a line in faults().
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "client/pool/layout.h"

namespace fathom::client::testing {

struct ReadItem {
  pool::ItemTag tag;
  pool::ItemType type;
  std::string key;
  std::string value;  // raw bytes
};

struct ReadSpan {
  uint64_t start_ticks, end_ticks;
  std::string trace_id, span_id, parent_span_id;  // hex; the parent of a root is empty
  uint8_t kind, status, flags;
  std::string name;
  uint16_t dropped_attributes, dropped_events, dropped_links;
  std::vector<ReadItem> items;

  const ReadItem* find(pool::ItemTag tag, const std::string& key) const;
  // As text, whatever its type; "?" when it is not there.
  std::string attribute(const std::string& key) const;
};

std::string value_text(const ReadItem& item);

enum class Writer { kAlive, kDead };  // the holes of a dead one are passed over

class PoolReader {
 public:
  static PoolReader of_this_process();
  // Maps the file; the descriptor stays the caller's.
  static PoolReader of_file(int fd);
  // A pool that the caller has mapped.
  static PoolReader of_memory(char* base);
  ~PoolReader();
  PoolReader(PoolReader&& other) noexcept;
  PoolReader(const PoolReader&) = delete;
  PoolReader& operator=(const PoolReader&) = delete;

  // What is complete and was not taken before. Acknowledges it, and frees chunks that are sealed and empty.
  std::vector<ReadSpan> take(Writer writer = Writer::kAlive);
  // The same without looking into the records: as many, fast.
  uint64_t take_count();
  std::map<std::string, std::string> resource() const;
  pool::Header& header() const { return *reinterpret_cast<pool::Header*>(base_); }
  pool::ChunkEntry& entry(uint32_t number) const;
  uint32_t chunks_in_state(pool::ChunkState state) const;
  uint64_t lost(pool::Loss loss) const { return header().losses[loss].load(); }
  const std::vector<std::string>& faults() const { return faults_; }

 private:
  PoolReader(char* base, size_t mapped) : base_(base), mapped_(mapped) {}
  template <typename Sink>
  void take_chunk(uint32_t number, Writer writer, const Sink& sink);
  template <typename Sink>
  uint32_t take_records(const char* chunk, uint32_t epoch, uint32_t at, uint32_t end, Writer writer, const Sink& sink);
  void fault(const std::string& what) { faults_.push_back(what); }

  char* base_;
  size_t mapped_;  // zero: the pool is this process's own
  std::vector<std::string> faults_;
};

// One record as ReadSpan; nothing when it contradicts the format.
std::optional<ReadSpan> parse_record(const char* record, size_t bytes);

}  // namespace fathom::client::testing
