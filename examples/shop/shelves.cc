#include "shelves.h"

#include <fathom/event.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <utility>

namespace shop {

namespace {

constexpr uint32_t kFull = 200;
constexpr uint32_t kLow = 20;
constexpr uint32_t kSoldOut = 97;  // every so many-th item is never there

uint32_t first_quantity(uint32_t item) {
  return item % kSoldOut == 0 ? 0 : kFull;
}

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

}  // namespace

Shelves::Shelves(uint32_t items, std::string snapshot_file, uint64_t snapshot_every_ms)
    : file_(std::move(snapshot_file)) {
  for (uint32_t item = 0; item < items; ++item) {
    std::string shelf = "hall " + std::to_string(item % 7) + ", shelf " + std::to_string(item / 7);
    entries_.emplace_hint(entries_.end(), item, Entry{std::move(shelf), first_quantity(item)});
  }
  if (!file_.empty()) background_ = std::thread(&Shelves::snapshot_every, this, snapshot_every_ms);
}

Shelves::~Shelves() {
  {
    std::lock_guard lock(stop_mutex_);
    stop_ = true;
  }
  stop_changed_.notify_all();
  if (background_.joinable()) background_.join();
}

std::optional<uint32_t> Shelves::look(uint32_t item) {
  FATHOM_EVENT_ON("shelves.wait", "item", item);
  std::lock_guard lock(mutex_);
  FATHOM_EVENT_ON("shelves.entered", "item", item);
  auto found = entries_.find(item);
  if (found == entries_.end()) return std::nullopt;
  return found->second.left;
}

Shelves::Reservation Shelves::reserve(uint32_t item, uint32_t quantity) {
  FATHOM_EVENT_ON("shelves.wait", "item", item);
  std::lock_guard lock(mutex_);
  FATHOM_EVENT_ON("shelves.entered", "item", item);
  auto found = entries_.find(item);
  if (found == entries_.end()) return {Outcome::kUnknown, 0};
  Entry& entry = found->second;
  if (entry.left < quantity) return {Outcome::kTooFew, entry.left};
  entry.left -= quantity;
  bool restock = entry.left < kLow;
  if (restock) entry.left = kFull;
  return {Outcome::kReserved, entry.left, restock};
}

void Shelves::snapshot_every(uint64_t period_ms) {
  std::unique_lock lock(stop_mutex_);
  while (!stop_changed_.wait_for(lock, std::chrono::milliseconds(period_ms), [this] { return stop_; })) {
    lock.unlock();
    snapshot();
    lock.lock();
  }
}

void Shelves::snapshot() {
  std::lock_guard lock(mutex_);
  FATHOM_EVENT_ON("snapshot.begin", "file", file_, "entries", entries_.size());
  std::unique_ptr<std::FILE, CloseFile> file(std::fopen(file_.c_str(), "w"));
  if (file == nullptr) {
    static bool said = false;
    if (!std::exchange(said, true)) std::perror(("shop: " + file_).c_str());
    return;
  }
  for (const auto& [item, entry] : entries_) {
    std::fprintf(file.get(), "%u\t%s\t%u\n", item, entry.shelf.c_str(), entry.left);
  }
  FATHOM_EVENT_ON("snapshot.end", "file", file_);
}

}  // namespace shop
