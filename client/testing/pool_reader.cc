#include "client/testing/pool_reader.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "client/process.h"
#include "client/testing/hex.h"

namespace fathom::client::testing {
namespace {

bool parse_items(const char* at, const char* end, std::vector<ReadItem>& items) {
  while (at != end) {
    pool::ItemHead head;
    if (end - at < static_cast<ptrdiff_t>(sizeof head)) return false;
    std::memcpy(&head, at, sizeof head);
    at += sizeof head;
    if (static_cast<size_t>(end - at) < size_t{head.key_bytes} + head.value_bytes) return false;
    items.push_back({static_cast<pool::ItemTag>(head.tag), static_cast<pool::ItemType>(head.type),
                     std::string(at, head.key_bytes), std::string(at + head.key_bytes, head.value_bytes)});
    at += head.key_bytes + head.value_bytes;
  }
  return true;
}

}  // namespace

std::string value_text(const ReadItem& item) {
  if (item.type == pool::ItemType::kBool) return item.value == std::string(1, '\0') ? "false" : "true";
  if (item.type == pool::ItemType::kInt) {
    int64_t value;
    std::memcpy(&value, item.value.data(), sizeof value);
    return std::to_string(value);
  }
  if (item.type == pool::ItemType::kDouble) {
    double value;
    std::memcpy(&value, item.value.data(), sizeof value);
    return std::to_string(value);
  }
  return item.value;
}

const ReadItem* ReadSpan::find(pool::ItemTag tag, const std::string& key) const {
  for (const ReadItem& item : items) {
    if (item.tag == tag && item.key == key) return &item;
  }
  return nullptr;
}

std::string ReadSpan::attribute(const std::string& key) const {
  const ReadItem* item = find(pool::ItemTag::kAttribute, key);
  return item == nullptr ? "?" : value_text(*item);
}

std::optional<ReadSpan> parse_record(const char* record, size_t bytes) {
  pool::SpanRecord head;
  if (bytes < sizeof head) return std::nullopt;
  std::memcpy(&head, record, sizeof head);
  const size_t used = sizeof head + head.name_bytes + size_t{head.item_bytes};
  if (used > bytes || bytes - used > 7) return std::nullopt;
  for (size_t i = used; i < bytes; i++) {
    if (record[i] != 0) return std::nullopt;
  }
  ReadSpan span = {head.start_ticks,
                   head.end_ticks,
                   hex(head.trace_id, 16),
                   hex(head.span_id, 8),
                   hex(head.parent_span_id, 8),
                   head.kind,
                   head.status,
                   head.flags,
                   std::string(record + sizeof head, head.name_bytes),
                   head.dropped_attributes,
                   head.dropped_events,
                   head.dropped_links,
                   {}};
  if (span.parent_span_id == std::string(16, '0')) span.parent_span_id.clear();
  const char* items = record + sizeof head + head.name_bytes;
  if (!parse_items(items, items + head.item_bytes, span.items)) return std::nullopt;
  return span;
}

PoolReader PoolReader::of_this_process() {
  return {ensure_pool(), 0};
}

PoolReader PoolReader::of_file(int fd) {
  struct stat file = {};
  fstat(fd, &file);
  const auto size = static_cast<size_t>(file.st_size);
  void* base = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  PoolReader reader(static_cast<char*>(base), size);
  if (base == MAP_FAILED) std::abort();
  if (reader.header().magic != pool::kMagic || reader.header().version != pool::kVersion) reader.fault("not a pool");
  return reader;
}

PoolReader PoolReader::of_memory(char* base) {
  return {base, 0};
}

PoolReader::~PoolReader() {
  if (mapped_ != 0) munmap(base_, mapped_);
}

PoolReader::PoolReader(PoolReader&& other) noexcept
    : base_(other.base_), mapped_(std::exchange(other.mapped_, 0)), faults_(std::move(other.faults_)) {}

pool::ChunkEntry& PoolReader::entry(uint32_t number) const {
  return reinterpret_cast<pool::ChunkEntry*>(base_ + pool::kPageBytes)[number];
}

uint32_t PoolReader::chunks_in_state(pool::ChunkState state) const {
  uint32_t count = 0;
  for (uint32_t i = 0; i < header().chunk_count; i++) count += static_cast<uint32_t>(entry(i).state.load()) == state;
  return count;
}

template <typename Sink>
uint32_t PoolReader::take_records(const char* chunk, uint32_t epoch, uint32_t at, uint32_t end, Writer writer,
                                  const Sink& sink) {
  uint32_t taken = at;
  while (at + sizeof(pool::SpanRecord) <= end) {
    const uint64_t word = std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(const_cast<char*>(chunk) + at))
                              .load(std::memory_order_acquire);
    const auto bytes = static_cast<uint32_t>(word >> 40) * 8;
    if (static_cast<uint32_t>(word) != epoch || bytes == 0) {
      if (writer == Writer::kAlive) break;
      at += 8;
      continue;
    }
    if (at + bytes > end || (word >> 32 & 0xff) != static_cast<uint64_t>(pool::RecordType::kSpan)) {
      fault("bad word at " + std::to_string(at));
      break;
    }
    sink(chunk + at, bytes);
    at += bytes;
    taken = at;
  }
  return taken;
}

template <typename Sink>
void PoolReader::take_chunk(uint32_t number, Writer writer, const Sink& sink) {
  pool::ChunkEntry& chunk = entry(number);
  uint64_t state = chunk.state.load(std::memory_order_acquire);
  const auto kind = static_cast<pool::ChunkState>(static_cast<uint32_t>(state));
  const auto epoch = static_cast<uint32_t>(state >> 32);
  if (kind != pool::kOwned && kind != pool::kSealed) return;
  const uint32_t from = chunk.reader_epoch.load() == epoch ? chunk.acknowledged.load() : 0;
  const uint32_t committed = chunk.committed.load(std::memory_order_acquire);
  const uint32_t reserved = chunk.reserved.load(std::memory_order_acquire);
  const char* data = base_ + header().chunks_offset + size_t{number} * pool::kChunkBytes;
  const uint32_t to = take_records(data, epoch, from, std::min(reserved, pool::kChunkBytes), writer, sink);
  if (committed == reserved && to < committed) fault("committed, and not there: chunk " + std::to_string(number));
  chunk.acknowledged.store(to);
  chunk.reader_epoch.store(epoch, std::memory_order_release);
  if (kind != pool::kSealed) return;
  if (to != reserved) fault("sealed with another size: chunk " + std::to_string(number));
  if (!chunk.state.compare_exchange_strong(state, pool::pack_state(epoch, pool::kFree), std::memory_order_release)) {
    fault("a sealed chunk changed: " + std::to_string(number));
  }
}

std::vector<ReadSpan> PoolReader::take(Writer writer) {
  std::vector<ReadSpan> spans;
  const auto sink = [&](const char* record, uint32_t bytes) {
    if (auto span = parse_record(record, bytes)) {
      spans.push_back(std::move(*span));
    } else {
      fault("bad record");
    }
  };
  for (uint32_t i = 0; i < header().chunk_count; i++) take_chunk(i, writer, sink);
  return spans;
}

uint64_t PoolReader::take_count() {
  uint64_t count = 0;
  for (uint32_t i = 0; i < header().chunk_count; i++)
    take_chunk(i, Writer::kAlive, [&](const char*, uint32_t) { count++; });
  return count;
}

std::map<std::string, std::string> PoolReader::resource() const {
  const uint64_t state = header().resource.load(std::memory_order_acquire);
  const char* at = base_ + header().resource_offset;
  const char* end = at + static_cast<uint32_t>(state);
  std::map<std::string, std::string> attributes;
  while (at < end) {
    uint16_t sizes[2];
    std::memcpy(sizes, at, sizeof sizes);
    attributes[std::string(at + 4, sizes[0])] = std::string(at + 4 + sizes[0], sizes[1]);
    at += 4 + sizes[0] + sizes[1];
  }
  return attributes;
}

}  // namespace fathom::client::testing
