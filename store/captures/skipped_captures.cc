// CaptureKeeper's functions for skipped captures.
#include <algorithm>
#include <utility>

#include <rocksdb/write_batch.h>

#include "store/captures/capture_counters.h"
#include "store/captures/capture_keeper.h"
#include "store/rocks/disk_space.h"

namespace fathom::store {

namespace {

constexpr uint64_t kOldPerWrite = 256;

bool has_room_for_skipped(Engine& engine) {
  const std::optional<DiskSpace> space = measure_disk(engine);
  return engine.writable.load() && (!space || space->has_room_for_capture(0));
}

}  // namespace

// Stores pieces, and releases the lock between them, so that captures can be stored meanwhile.
Result<> CaptureKeeper::keep_skipped(std::vector<CaptureInfo> skipped) {
  const uint64_t most = most_skipped_captures(engine_.options.capture_bytes);
  if (most == 0) return dropped_skipped("limit").add(skipped.size()), Result<>();
  Result<> kept;
  if (!has_room_for_skipped(engine_)) kept = unavailable("the disk is nearly full, full or faulty");
  std::span<CaptureInfo> left(skipped);
  while (kept && !left.empty()) {
    const size_t size = std::min<uint64_t>(left.size(), skipped_captures_at_once(most));
    kept = put_skipped(left.first(size));
    if (kept) left = left.subspan(size);
  }
  dropped_skipped("refused").add(left.size());
  return kept;
}

Result<> CaptureKeeper::put_skipped(std::span<CaptureInfo> skipped) {
  std::lock_guard lock(mutex_);
  if (Result<> made = make_room_for_skipped(skipped.size()); !made) return made;
  rocksdb::WriteBatch batch;
  uint64_t number = skipped_.last_number();
  for (CaptureInfo& header : skipped) {
    number = std::max(number + 1, header.received_unix_nano);
    header.id = skipped_id(number);
    table_.put(header, batch);
  }
  if (Result<> written = write(batch, /*sync=*/false); !written) return written;
  for (const CaptureInfo& header : skipped) count_row(header);
  show();
  return {};
}

Result<> CaptureKeeper::make_room_for_skipped(uint64_t more) {
  const uint64_t most = most_skipped_captures(engine_.options.capture_bytes);
  const uint64_t count = skipped_captures_to_drop(skipped_.size(), more, most);
  const auto is_any = [](const CaptureInfo&) { return true; };
  const Result<uint64_t> dropped = drop_skipped(skipped_.oldest_of_largest(count), "limit", is_any);
  return dropped.ok() ? Result<>() : Result<>(dropped.error());
}

Result<uint64_t> CaptureKeeper::drop_skipped(std::vector<uint64_t> numbers, const char* reason, const Wanted& wanted) {
  rocksdb::WriteBatch batch;
  uint64_t count = 0;
  for (; count < numbers.size(); ++count) {
    const Result<std::optional<CaptureInfo>> header = table_.get(skipped_id(numbers[count]));
    const bool is_damaged = !header.ok() && header.error().code == ErrorCode::kCorrupt;
    if (is_damaged) continue;  // skip it; the next start removes its rows
    if (!header) return header.error();
    if (*header && !wanted(**header)) break;
    if (*header) table_.erase(**header, batch);
  }
  numbers.resize(count);
  if (count == 0) return count;
  if (Result<> written = write(batch, /*sync=*/false); !written) return written.error();
  for (uint64_t number : numbers) skipped_.remove(number);
  dropped_skipped(reason).add(count);
  show();
  return count;
}

Result<> CaptureKeeper::drop_old_skipped(const Wanted& is_old) {
  Result<uint64_t> dropped = kOldPerWrite;
  while (dropped.ok() && *dropped == kOldPerWrite) {
    std::lock_guard lock(mutex_);
    dropped = drop_skipped(skipped_.oldest(kOldPerWrite), "age", is_old);
  }
  return dropped.ok() ? Result<>() : Result<>(dropped.error());
}

}  // namespace fathom::store
