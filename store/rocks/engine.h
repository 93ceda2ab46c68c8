// Engine: what the parts of a RocksStore share, and the order in which they start and stop.
//
// Thread safety: as each part says. Ownership: the engine owns the database and everything that points into it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "store/clock/clock_keeper.h"
#include "store/rocks/catalogue.h"
#include "store/rocks/damaged_reads.h"
#include "store/rocks/database.h"
#include "store/rocks/live_partitions.h"
#include "store/rocks/loss_list.h"
#include "store/rocks/sealed.h"
#include "store/rocks/view.h"

namespace fathom::store {

CatalogueLimits catalogue_limits(const RocksOptions& options);

struct Engine {
  explicit Engine(RocksOptions given);

  // The age time, by which everything that arrives is stamped (store/clock/age_time.h).
  uint64_t now() const { return clock->now(); }
  SealedContext sealed() { return {*database, *live, directories, shared_pages, oversized, options.oversized}; }
  uint32_t partition_hour(uint64_t received_unix_nano) const {
    return static_cast<uint32_t>(received_unix_nano / options.partition_nano);
  }

  RocksOptions options;  // constant, except what RocksStore::set_limits() changes
  std::shared_ptr<LivePartitions> live = std::make_shared<LivePartitions>();
  std::unique_ptr<Database> database;
  std::unique_ptr<ClockKeeper> clock_keeper;
  std::shared_ptr<AgeClock> clock;  // of `clock_keeper`
  DirectoryCache directories;
  SharedPageCache shared_pages;
  OversizedTraces oversized;
  Catalogue catalogue;
  ViewHolder views;
  LossList losses;
  DamagedReads damaged_reads{options.path};
  std::atomic<uint64_t> received_sequence{0};  // of the newest durable and searchable batch
  std::atomic<uint64_t> sealed_sequence{0};    // stage rows up to here are superfluous
  std::atomic<uint32_t> last_segment{0};       // the greatest number given out; never given twice, caches rely on it
  std::atomic<bool> writable{true};            // false: writes are refused until there is room, or the fault is mended
};

}  // namespace fathom::store
