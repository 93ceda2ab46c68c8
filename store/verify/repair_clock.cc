#include "store/verify/repair_clock.h"

#include <algorithm>

#include "base/bytes.h"
#include "store/captures/capture_row.h"
#include "store/verify/row_scan.h"
#include "store/verify/stored_clock.h"
#include "store/verify/verify.h"
#include "store/wal/replace_env_file.h"

namespace fathom::store {

namespace {

class StampScan {
 public:
  explicit StampScan(StoreSource& source) : source_(source) {}

  uint64_t newest() {
    for (const SegmentInfoPtr& segment : read_segments(source_, nullptr)) add(segment->last_received_unix_nano);
    const auto add_first = [this](std::string_view, std::string_view value) { add(ByteReader(value).u64()); };
    scan(Family::kStage, add_first);
    scan(Family::kIdentity, add_first);
    scan(Family::kCapture, [this](std::string_view key, std::string_view value) {
      if (Result<CaptureInfo> info = decode_capture(key, value); info) add(info->received_unix_nano);
    });
    return newest_;
  }

 private:
  void add(uint64_t stamp) { newest_ = std::max(newest_, stamp); }
  void scan(Family family, const RowScan::Visit& visit) {
    if (source_.database().has(family)) RowScan::run(source_.database(), family, "", "", visit, [](const RowGap&) {});
  }

  StoreSource& source_;
  uint64_t newest_ = 0;
};

}  // namespace

RepairClock read_repair_clock(StoreSource& source, const ClockReading& reading) {
  const std::optional<AgeState> saved = stored_age_state(source.path());
  const bool is_unix = has_unix_stamps(source.path());
  const uint64_t stored = StampScan(source).newest();
  const AgeTime time = AgeTime::start(saved, {stored, is_unix}, reading);
  RepairClock clock;
  clock.now_nano = time.at(reading.boottime_nano);
  clock.newest_nano = std::max(stored, saved ? saved->age_nano : 0);
  if (clock.newest_nano == 0) clock.newest_nano = clock.now_nano;
  clock.state = saved ? *saved : is_unix ? AgeState{} : time.state();
  return clock;
}

Result<> write_repair_clock(const RepairClock& clock, const std::string& directory) {
  const std::string path = directory + "/clock";
  const rocksdb::Status status = replace_env_file(*rocksdb::Env::Default(), path, encode_age_state(clock.state));
  return status.ok() ? Result<>() : Result<>(from_status(status, "write " + path));
}

}  // namespace fathom::store
