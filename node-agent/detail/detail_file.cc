#include "node-agent/detail/detail_file.h"

#include <cassert>
#include <cstring>
#include <string_view>

namespace fathom::agent {

namespace {

// What the program wrote before it handed the file over, as plain words: a copy cannot change.
struct HeaderCopy {
  uint64_t magic;
  uint32_t version;
  uint32_t clock;
  uint32_t mode;
  uint32_t large_chunks;
  uint32_t small_chunks;
  uint32_t pid;
  uint64_t table_offset;
  uint64_t chunks_offset;
  uint8_t process_id[16];
};
static_assert(offsetof(HeaderCopy, process_id) == offsetof(pool::DetailHeader, process_id));

Error unknown(const std::string& what, uint32_t number) {
  return {ErrorCode::kUnsupported, "a detail pool " + what + " " + std::to_string(number)};
}

Result<> check_kind(const HeaderCopy& header) {
  if (header.magic != pool::kDetailMagic) return invalid("not a detail pool");
  if (header.version != pool::kDetailVersion) return unknown("of version", header.version);
  if (header.clock != static_cast<uint32_t>(pool::Clock::kTsc) &&
      header.clock != static_cast<uint32_t>(pool::Clock::kMonotonic))
    return unknown("with a clock of kind", header.clock);
  if (header.mode != static_cast<uint32_t>(pool::DetailMode::kOverwrite) &&
      header.mode != static_cast<uint32_t>(pool::DetailMode::kDiscard))
    return unknown("of mode", header.mode);
  return {};
}

uint64_t entries_end(uint64_t chunks) {
  return pool::kPageBytes + chunks * sizeof(pool::DetailEntry);
}

Result<> check_areas(const HeaderCopy& header, uint64_t file_bytes) {
  uint64_t chunks = uint64_t{header.large_chunks} + header.small_chunks;
  if (chunks == 0 || chunks > pool::kMostDetailChunks) return invalid(std::to_string(chunks) + " chunks");
  uint64_t chunks_bytes = chunks * pool::kStrideBytes;
  if (file_bytes < chunks_bytes || header.chunks_offset != file_bytes - chunks_bytes)
    return invalid("the file's size is not what its header adds up to");
  if (header.chunks_offset % pool::kPageBytes != 0 || header.table_offset % pool::kPageBytes != 0)
    return invalid("areas of the pool that do not begin with a page");
  if (header.chunks_offset < pool::kTableBytes || header.table_offset < entries_end(chunks) ||
      header.table_offset > header.chunks_offset - pool::kTableBytes)
    return invalid("areas of the pool overlap");
  return {};
}

DetailShape shape_of(const HeaderCopy& header) {
  DetailShape shape{.clock = static_cast<pool::Clock>(header.clock),
                    .mode = static_cast<pool::DetailMode>(header.mode),
                    .large_chunks = header.large_chunks,
                    .small_chunks = header.small_chunks,
                    .pid = header.pid,
                    .table_offset = header.table_offset,
                    .chunks_offset = header.chunks_offset};
  std::memcpy(shape.process_id.data(), header.process_id, shape.process_id.size());
  return shape;
}

// Programs fill the table from its begin. An entry has at most 2,528 bytes, and may be written after the next one is. A
// piece without any written entry would need ten such entries in a row: it counts as the end.
constexpr size_t kTablePieceBytes = 32 * 1024;
static_assert(pool::kTableBytes % kTablePieceBytes == 0);

bool is_zero(std::string_view bytes) {
  return bytes.empty() || (bytes[0] == '\0' && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

}  // namespace

Result<DetailFile> DetailFile::open(Fd descriptor, uint64_t offered_bytes) {
  Result<MemoryFile> file = MemoryFile::open(std::move(descriptor), offered_bytes);
  if (!file) return file.error();
  HeaderCopy header{};
  if (file->read(0, reinterpret_cast<char*>(&header), sizeof header) != sizeof header)
    return invalid("too short for a header");
  Result<> fits = check_kind(header);
  if (fits) fits = check_areas(header, file->bytes());
  if (!fits) return fits.error();
  DetailShape shape = shape_of(header);
  Result<> mapped = file->map(entries_end(shape.chunks()));
  if (!mapped) return mapped.error();
  return DetailFile(*std::move(file), shape);
}

bool DetailFile::read_chunk(uint32_t chunk, uint32_t offset, char* into, size_t bytes) const {
  assert(chunk < shape_.chunks() && offset + bytes <= shape_.chunk_bytes(chunk));
  return file_.read(shape_.chunk_offset(chunk) + offset, into, bytes) == bytes;
}

std::string DetailFile::read_table() const {
  std::string table;
  bool goes_on = true;
  while (goes_on && table.size() < pool::kTableBytes) {
    const size_t at = table.size();
    table.resize(at + kTablePieceBytes);
    table.resize(at + file_.read(shape_.table_offset + at, table.data() + at, kTablePieceBytes));
    goes_on = table.size() == at + kTablePieceBytes && !is_zero(std::string_view(table).substr(at));
  }
  return table;
}

DetailLossCounts DetailFile::losses() const {
  DetailLossCounts counts;
  for (uint32_t loss = 0; loss < counts.size(); ++loss) {
    counts[loss] = header().losses[loss].load(std::memory_order_relaxed);
  }
  return counts;
}

}  // namespace fathom::agent
