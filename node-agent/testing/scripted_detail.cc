#include "node-agent/testing/scripted_detail.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace fathom::agent::testing {

namespace {

constexpr uint32_t kNoEpoch = 0;

uint64_t whole_pages(uint64_t bytes) {
  return (bytes + pool::kPageBytes - 1) / pool::kPageBytes * pool::kPageBytes;
}

std::string head(uint32_t kind, uint32_t words, uint64_t ticks) {
  return raw(ticks & 0xffffffffffff).substr(0, 6) + raw(static_cast<uint16_t>(kind << 4 | words)) + raw(kNoEpoch);
}

std::string padded(std::string record) {
  record.resize((record.size() + 7) / 8 * 8, '\0');
  return record;
}

}  // namespace

std::string detail_record(uint32_t kind, uint64_t ticks, std::string_view payload) {
  constexpr size_t kMostShort = pool::kShortRecordBytes - pool::kPayloadOffset;
  if (payload.size() > kMostShort) return long_detail_record(kind, ticks, payload);
  size_t words = payload.size() <= 4 ? 0 : (payload.size() - 4 + 7) / 8;
  std::string record = head(kind, static_cast<uint32_t>(words), ticks).append(payload);
  record.resize(pool::kLeastRecordBytes + words * 8, '\0');
  return record;
}

std::string long_detail_record(uint32_t kind, uint64_t ticks, std::string_view payload) {
  return padded(head(kind, pool::kLongWords, ticks) + raw(static_cast<uint32_t>(payload.size())) +
                std::string(payload));
}

std::string owner_record(uint32_t tid, uint64_t ticks) {
  return detail_record(pool::kOwner, ticks, raw(tid));
}

pool::SpanRef span_ref(uint8_t number) {
  pool::SpanRef ref;
  std::memset(ref.trace_id, number, sizeof ref.trace_id);
  std::memset(ref.span_id, number, sizeof ref.span_id);
  return ref;
}

std::string spans_record(uint64_t ticks, const std::vector<uint8_t>& spans, pool::DetailKind kind) {
  std::string payload = raw(static_cast<uint32_t>(spans.size()));
  for (uint8_t span : spans) payload += raw(span_ref(span));
  return detail_record(kind, ticks, payload);
}

std::string pad_record(uint32_t bytes) {
  bool is_short = bytes <= pool::kShortRecordBytes;
  uint32_t payload = bytes - pool::kLeastRecordBytes;
  std::string record = head(pool::kPad, is_short ? payload / 8 : pool::kLongWords, 0) + raw(payload);
  record.resize(bytes, '\xff');  // whatever was there
  return record;
}

std::string table_entry(uint32_t kind, std::string_view name, const DetailFields& fields, std::string_view file,
                        uint32_t line) {
  std::string rest = raw(static_cast<uint16_t>(kind)) + raw(static_cast<uint16_t>(line)) +
                     raw(static_cast<uint16_t>(name.size())) + raw(static_cast<uint16_t>(file.size())) +
                     raw(static_cast<uint16_t>(fields.size())) + raw(uint16_t{0});
  rest.append(name).append(file);
  for (const auto& [type, key] : fields) {
    rest += static_cast<char>(type);
    rest += static_cast<char>(key.size());
    rest += key;
  }
  auto bytes = static_cast<uint32_t>((4 + rest.size() + 7) / 8 * 8);
  return padded(raw(bytes) + rest);
}

ScriptedDetail::ScriptedDetail(const DetailPlan& plan)
    : plan_(plan),
      descriptor_(::memfd_create("scripted-detail", MFD_CLOEXEC | MFD_ALLOW_SEALING)),
      used_(plan.large + plan.small) {
  uint64_t chunks = plan.large + plan.small;
  uint64_t table_offset = pool::kPageBytes + whole_pages(chunks * sizeof(pool::DetailEntry));
  uint64_t chunks_offset = table_offset + pool::kTableBytes;
  bytes_ = chunks_offset + chunks * pool::kStrideBytes;
  if (::ftruncate(descriptor_.get(), static_cast<off_t>(bytes_)) != 0) std::abort();
  int seals = plan.seals < 0 ? F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL : plan.seals;
  if (::fcntl(descriptor_.get(), F_ADD_SEALS, seals) != 0) std::abort();
  void* mapping = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_.get(), 0);
  if (mapping == MAP_FAILED) std::abort();
  memory_ = static_cast<char*>(mapping);
  header().magic = pool::kDetailMagic;
  header().version = pool::kDetailVersion;
  header().clock = plan.clock;
  header().mode = plan.mode;
  header().large_chunks = plan.large;
  header().small_chunks = plan.small;
  header().pid = 100;
  header().table_offset = table_offset;
  header().chunks_offset = chunks_offset;
  std::memset(header().process_id, 0x42, sizeof header().process_id);
  header().reader.store(1);
}

ScriptedDetail::~ScriptedDetail() {
  ::munmap(memory_, bytes_);
}

Fd ScriptedDetail::descriptor() const {
  return Fd(::fcntl(descriptor_.get(), F_DUPFD_CLOEXEC, 0));
}

char* ScriptedDetail::chunk(uint32_t number) {
  return memory_ + header().chunks_offset + uint64_t{number} * pool::kStrideBytes + pool::kChunkEnd -
         chunk_bytes(number);
}

char* ScriptedDetail::table() {
  return memory_ + header().table_offset;
}

uint32_t ScriptedDetail::describe(uint32_t kind, std::string_view name, const DetailFields& fields) {
  std::string entry = table_entry(kind, name, fields);
  std::memcpy(table() + table_used_, entry.data(), entry.size());
  return std::exchange(table_used_, table_used_ + static_cast<uint32_t>(entry.size()));
}

void ScriptedDetail::switch_tracepoint(uint32_t place, bool on) {
  reinterpret_cast<pool::TracepointEntry*>(table() + place)->on.store(on ? 1 : 0);
}

uint32_t ScriptedDetail::claim(uint32_t chunk, uint64_t first_ticks, uint32_t tid) {
  uint64_t before = word(chunk);
  bool is_void = pool::reader_of(before) != header().reader.load();
  bool full = plan_.mode == pool::DetailMode::kDiscard && pool::state_of(before) != pool::kDetailFree;
  if (pool::state_of(before) == pool::kDetailOwned || full) return 0;
  if (pool::state_of(before) == pool::kDetailReading && !is_void) return 0;
  if (pool::state_of(before) != pool::kDetailFree) {
    header().overwritten_ticks.store(std::max(header().overwritten_ticks.load(), entry(chunk).last_ticks.load()));
  }
  uint32_t epoch = pool::epoch_of(before) == 0 ? plan_.first_epoch : pool::epoch_of(before) + 2;
  if (!entry(chunk).state.compare_exchange_strong(before, pool::pack_detail(epoch, pool::kDetailOwned))) return 0;
  entry(chunk).owner_tid.store(tid);
  entry(chunk).first_ticks.store(first_ticks);
  used_[chunk] = 0;
  return epoch;
}

uint32_t ScriptedDetail::reserve(uint32_t chunk, size_t bytes) {
  return std::exchange(used_[chunk], used_[chunk] + static_cast<uint32_t>(bytes));
}

void ScriptedDetail::write(uint32_t chunk, uint32_t at, const std::string& record) {
  char* to = this->chunk(chunk) + at;
  std::memcpy(to, record.data(), pool::kEpochOffset);
  std::memcpy(to + pool::kPayloadOffset, record.data() + pool::kPayloadOffset, record.size() - pool::kPayloadOffset);
}

void ScriptedDetail::commit(uint32_t chunk, uint32_t at) {
  auto* epoch = reinterpret_cast<uint32_t*>(this->chunk(chunk) + at + pool::kEpochOffset);
  std::atomic_ref<uint32_t>(*epoch).store(this->epoch(chunk), std::memory_order_release);
}

void ScriptedDetail::seal(uint32_t chunk, uint64_t last_ticks) {
  entry(chunk).used.store(std::min(used_[chunk], chunk_bytes(chunk)));
  entry(chunk).last_ticks.store(last_ticks);
  uint64_t owned = pool::pack_detail(epoch(chunk), pool::kDetailOwned);
  entry(chunk).state.compare_exchange_strong(owned, pool::pack_detail(epoch(chunk), pool::kDetailSealed));
}

bool ScriptedDetail::put(uint32_t chunk, const std::string& record) {
  uint32_t at = reserve(chunk, record.size());
  if (at + record.size() > chunk_bytes(chunk)) return false;
  write(chunk, at, record);
  commit(chunk, at);
  return true;
}

}  // namespace fathom::agent::testing
