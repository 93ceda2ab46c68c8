#include "store/testing/simulated_store.h"

#include <algorithm>
#include <filesystem>
#include <mutex>

#include "base/time.h"

namespace fathom::store::testing {

SimulatedStore::SimulatedStore(uint64_t seed, Durability durability) : scheduler_(seed) {
  options_.path = path();
  options_.durability = durability;
  options_.env = env_.get();
  options_.scheduler = &scheduler_;
  options_.read_clocks = [this] { return read_clocks(); };
  options_.segment_spans = 40 + seed % 3 * 60;
  options_.sealing_limit = 1 + seed % 4;
  options_.cache_bytes = 1 << 20;
  options_.reserve_disk_bytes = 0;
}

SimulatedStore::~SimulatedStore() = default;

std::string SimulatedStore::open() {
  std::filesystem::remove_all(image());
  std::filesystem::create_directories(last_start());
  if (std::filesystem::exists(path())) {
    std::filesystem::copy(path(), image(), std::filesystem::copy_options::recursive);
  }
  Result<std::unique_ptr<RocksStore>> opened = RocksStore::open(options_);
  if (!opened) return opened.error().message;
  store_ = std::move(*opened);
  return "";
}

void SimulatedStore::take_image(const std::string& directory) {
  if (!std::filesystem::exists(directory)) return;
  std::filesystem::copy(directory, path(), std::filesystem::copy_options::recursive);
}

void SimulatedStore::stop(Stop how, std::mt19937_64& random, uint64_t most_off_nano) {
  if (how != Stop::kClose) disk_->crash();
  store_.reset();
  if (how == Stop::kClose && !disk_->is_crashed()) return;
  if (how == Stop::kKill) return disk_->restart_after_kill();
  boot(random() % 3 == 0 ? random() % most_off_nano : random() % std::min(most_off_nano, kNanosPerMinute));
  switch (random() % 3) {
    case 0:
      return disk_->restart();
    case 1:
      return disk_->restart(random());
    default:
      return disk_->restart_reordered(random());
  }
}

std::vector<AppendResult> SimulatedStore::append(const std::vector<BatchPtr>& batches) {
  std::mutex mutex;
  std::vector<AppendResult> results(batches.size());
  size_t waiting = batches.size();
  for (size_t i = 0; i < batches.size(); ++i) {
    auto done = [&, i](AppendResult result) {
      std::lock_guard lock(mutex);
      results[i] = std::move(result);
      --waiting;
      scheduler_.notify(&waiting);
    };
    batches.size() == 1 ? store_->append_here(batches[i], done, [] {}) : store_->append(batches[i], done);
  }
  std::unique_lock lock(mutex);
  while (waiting > 0) scheduler_.wait(&waiting, lock, Scheduler::kNoDeadline);
  return results;
}

uint64_t SimulatedStore::wall_unix_nano() const {
  return stalled_unix_nano_ != 0 ? stalled_unix_nano_ : elapsed_nano() + wall_offset_nano_;
}

ClockReading SimulatedStore::read_clocks() const {
  constexpr uint64_t kBootNano = 20 * kNanosPerSecond;
  return {"boot-" + std::to_string(boots_), elapsed_nano() - booted_nano_ + kBootNano, wall_unix_nano()};
}

void SimulatedStore::boot(uint64_t off_nano) {
  ++boots_;
  away_nano_ += off_nano;
  booted_nano_ = elapsed_nano();
}

void SimulatedStore::keep(uint64_t age_nano) {
  options_.retention_age_nano = age_nano;
  if (store_) store_->set_limits(options_);
}

void SimulatedStore::set_wall(uint64_t unix_nano) {
  stalled_unix_nano_ = 0;
  wall_offset_nano_ = unix_nano - elapsed_nano();
}

}  // namespace fathom::store::testing
