// How many of each item are left: a map under a mutex, and a thread that writes the whole map to a file every second.
//
// Purpose: the fault of the shop. The thread holds the mutex for as long as it writes, so nearly all requests take
// microseconds here, and those that come at the wrong moment take as long as the writing. Nothing in a trace says why.
// Thread safety: all functions. Errors: a file that cannot be written is said once on standard error.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace shop {

class Shelves {
 public:
  Shelves(uint32_t items, std::string snapshot_file, uint64_t snapshot_every_ms);
  ~Shelves();

  // Nothing: there is no such item.
  std::optional<uint32_t> look(uint32_t item);

  enum class Outcome { kReserved, kTooFew, kUnknown };
  struct Reservation {
    Outcome outcome;
    uint32_t left;
    bool restocked = false;
  };
  Reservation reserve(uint32_t item, uint32_t quantity);

 private:
  struct Entry {
    std::string shelf;
    uint32_t left;
  };
  void snapshot_every(uint64_t period_ms);
  void snapshot();

  std::mutex mutex_;
  std::map<uint32_t, Entry> entries_;
  const std::string file_;

  std::mutex stop_mutex_;
  std::condition_variable stop_changed_;
  bool stop_ = false;
  std::thread background_;
};

}  // namespace shop
