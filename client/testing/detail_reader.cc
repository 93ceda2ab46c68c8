#include "client/testing/detail_reader.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "client/process.h"
#include "client/testing/hex.h"

namespace fathom::client::testing {
namespace {

template <typename Word>
Word word_at(std::string_view bytes, size_t at) {
  Word word{};
  if (at + sizeof word <= bytes.size()) std::memcpy(&word, bytes.data() + at, sizeof word);
  return word;
}

size_t width_of(uint8_t type) {
  static constexpr size_t kWidths[] = {0, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 1};
  return type < std::size(kWidths) ? kWidths[type] : 0;
}

template <typename Number>
std::string text_of(std::string_view bytes) {
  return std::to_string(word_at<Number>(bytes, 0));
}

std::string number_text(uint8_t type, std::string_view bytes) {
  switch (static_cast<pool::FieldType>(type)) {
    case pool::FieldType::kInt8:
      return text_of<int8_t>(bytes);
    case pool::FieldType::kInt16:
      return text_of<int16_t>(bytes);
    case pool::FieldType::kInt32:
      return text_of<int32_t>(bytes);
    case pool::FieldType::kInt64:
      return text_of<int64_t>(bytes);
    case pool::FieldType::kUint16:
      return text_of<uint16_t>(bytes);
    case pool::FieldType::kUint32:
      return text_of<uint32_t>(bytes);
    case pool::FieldType::kUint64:
      return text_of<uint64_t>(bytes);
    case pool::FieldType::kFloat:
      return text_of<float>(bytes);
    case pool::FieldType::kDouble:
      return text_of<double>(bytes);
    default:
      return text_of<uint8_t>(bytes);
  }
}

}  // namespace

std::string ReadEvent::operator[](const std::string& key) const {
  for (const ReadField& field : fields) {
    if (field.key == key) return field.value;
  }
  return "?";
}

DetailReader DetailReader::of_this_process() {
  DetailReader reader;
  const detail::View view = detail::current_view();
  if (view.header == nullptr) return reader;
  reader.fd_ = live().recorder.fd_plus_one.load() - 1;
  reader.header_ = view.header;
  reader.entries_ = view.entries;
  return reader;
}

DetailReader DetailReader::of_file(int fd) {
  DetailReader reader;
  struct stat file = {};
  if (fstat(fd, &file) != 0) return reader;
  const auto size = static_cast<size_t>(file.st_size);
  void* base = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (base == MAP_FAILED) return reader;
  reader.mapping_ = std::shared_ptr<void>(base, [size](void* mapped) { munmap(mapped, size); });
  reader.fd_ = fd;
  reader.header_ = static_cast<pool::DetailHeader*>(base);
  reader.entries_ = reinterpret_cast<pool::DetailEntry*>(static_cast<char*>(base) + pool::kPageBytes);
  return reader;
}

std::map<std::string, bool> DetailReader::switches() {
  read_table();
  std::map<std::string, bool> all;
  for (const auto& [kind, point] : table_) all[point.name] = point.on;
  return all;
}

std::string DetailReader::bytes(uint64_t offset, size_t size) const {
  std::string bytes(size, '\0');
  const ssize_t got = pread(fd_, bytes.data(), size, static_cast<off_t>(offset));
  bytes.resize(got < 0 ? 0 : static_cast<size_t>(got));
  return bytes;
}

void DetailReader::read_table() {
  const std::string all = bytes(header_->table_offset, pool::kTableBytes);
  for (size_t at = 0; word_at<uint32_t>(all, at) != 0; at += word_at<uint32_t>(all, at)) {
    Tracepoint point;
    size_t from = at + sizeof(pool::TracepointEntry);
    const size_t name = word_at<uint16_t>(all, at + 8), file = word_at<uint16_t>(all, at + 10);
    point.name = all.substr(from, name);
    point.on = word_at<uint16_t>(all, at + offsetof(pool::TracepointEntry, on)) != 0;
    from += name + file;
    for (uint32_t i = 0; i < word_at<uint16_t>(all, at + 12); i++) {
      const size_t key = word_at<uint8_t>(all, from + 1);
      point.fields.emplace_back(word_at<uint8_t>(all, from), all.substr(from + 2, key));
      from += 2 + key;
    }
    table_[word_at<uint16_t>(all, at + 4)] = point;
  }
}

void DetailReader::read_event(std::string_view record, uint32_t kind, const ReadEvent& context,
                              std::vector<ReadEvent>& events) {
  if (table_.count(kind) == 0) read_table();
  if (table_.count(kind) == 0) {
    faults_.push_back("an event of no known kind: " + std::to_string(kind));
    return;
  }
  const Tracepoint& point = table_[kind];
  // Other events are checked, but not converted to text.
  const bool kept = wanted_.empty() || point.name == wanted_;
  ReadEvent event = kept ? context : ReadEvent{};
  event.name = point.name;
  const bool is_long = (word_at<uint16_t>(record, pool::kHeadOffset) & 15) == pool::kLongWords;
  size_t at = pool::kPayloadOffset + (is_long ? 4 : 0);
  for (const auto& [type, key] : point.fields) {
    if (const size_t width = width_of(type); width != 0) {
      if (kept) event.fields.push_back({key, number_text(type, record.substr(at, width)), type});
      at += width;
      continue;
    }
    const uint32_t size = word_at<uint16_t>(record, at);
    if (kept) {
      event.fields.push_back({key, std::string(record.substr(at + 2, size & ~pool::kCutBit)), type});
      if ((size & pool::kCutBit) != 0) event.fields.back().value += "...";
    }
    at += 2 + (size & ~pool::kCutBit);
  }
  if (at > record.size()) faults_.push_back("a payload beyond its record: " + point.name);
  if (kept) events.push_back(std::move(event));
}

void DetailReader::read_chunk(uint32_t number, std::vector<ReadEvent>* events, ReadChunk& chunk) {
  const uint32_t size = number < header_->large_chunks ? pool::kLargeBytes : pool::kSmallBytes;
  const uint64_t end = header_->chunks_offset + uint64_t{number} * pool::kStrideBytes + pool::kChunkEnd;
  const std::string all = bytes(end - size, size);
  ReadEvent event;
  event.chunk = number;
  event.epoch = chunk.epoch;
  bool in_hole = false;
  for (size_t at = 0; at + pool::kLeastRecordBytes <= all.size();) {
    if (word_at<uint32_t>(all, at + pool::kEpochOffset) != chunk.epoch) {
      in_hole = true;
      at += pool::kRecordAlignment;
      continue;
    }
    if (in_hole) chunk.holes++;
    in_hole = false;
    const uint32_t head = word_at<uint16_t>(all, at + pool::kHeadOffset);
    const uint32_t payload = word_at<uint32_t>(all, at + pool::kPayloadOffset);
    const uint32_t words = head & 15;
    const size_t bytes = words == pool::kLongWords ? (pool::kLeastRecordBytes + payload + 7) / 8 * 8
                                                   : pool::kLeastRecordBytes + words * 8;
    if (at + bytes > all.size()) {
      faults_.push_back("a record beyond its chunk");
      break;
    }
    const std::string_view record = std::string_view(all).substr(at, bytes);
    event.ticks = word_at<uint64_t>(record, 0) & 0xffffffffffff;
    const uint32_t kind = pool::kind_of(head);
    if (kind == pool::kOwner) {
      event.tid = payload;
      event.spans.clear();
    } else if (kind == pool::kSpans || kind == pool::kMoreSpans) {
      if (kind == pool::kSpans) event.spans.clear();
      if (payload > pool::kSpansInRecord) faults_.push_back("a record of too many spans");
      for (uint32_t i = 0; i < payload; i++) {
        event.spans.push_back(hex(record.substr(pool::kLeastRecordBytes + i * sizeof(pool::SpanRef) + 16, 8)));
      }
    } else if (kind != pool::kPad && events != nullptr) {
      event.span_id = event.spans.empty() ? "" : event.spans[0];
      read_event(record, kind, event, *events);
    }
    at += bytes;
    chunk.used = static_cast<uint32_t>(at);
  }
}

std::vector<ReadChunk> DetailReader::chunks() {
  std::vector<ReadChunk> chunks;
  for (uint32_t i = 0; header_ != nullptr && i < count(); i++) {
    const uint64_t state = entries_[i].state.load(std::memory_order_acquire);
    ReadChunk chunk{i, pool::epoch_of(state), pool::state_of(state)};
    if (chunk.state != pool::kDetailFree) read_chunk(i, nullptr, chunk);
    chunks.push_back(chunk);
  }
  return chunks;
}

std::vector<ReadEvent> DetailReader::events(const std::string& name) {
  wanted_ = name;
  std::vector<ReadEvent> events;
  for (uint32_t i = 0; header_ != nullptr && i < count(); i++) {
    const uint64_t state = entries_[i].state.load(std::memory_order_acquire);
    ReadChunk chunk{i, pool::epoch_of(state), pool::state_of(state)};
    if (chunk.state == pool::kDetailFree) continue;
    read_chunk(i, &events, chunk);
    if (chunk.state == pool::kDetailSealed && chunk.holes != 0) faults_.push_back("a hole in a sealed chunk");
  }
  return events;
}

uint32_t DetailReader::chunks_in_state(pool::DetailState state) {
  uint32_t found = 0;
  for (uint32_t i = 0; header_ != nullptr && i < count(); i++) {
    if (pool::state_of(entries_[i].state.load(std::memory_order_acquire)) == state) found++;
  }
  return found;
}

}  // namespace fathom::client::testing
