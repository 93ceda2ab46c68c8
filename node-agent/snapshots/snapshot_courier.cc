#include "node-agent/snapshots/snapshot_courier.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "base/fd.h"
#include "base/log.h"
#include "base/thread_priority.h"
#include "base/whole_io.h"
#include "ingest/limits.h"
#include "node-agent/snapshots/snapshot_metrics.h"

namespace fathom::agent {

namespace {

using snapshot::SnapshotId;
using State = PieceReply::State;

constexpr uint32_t kMostIdlePieces = 4;  // that bring a content no further: somebody else sends it, too

std::vector<Sha256> contents_of(const snapshot::Snapshot& description) {
  std::set<Sha256> contents;
  for (const snapshot::Image& image : description.images) {
    if (!image.content.is_zero()) contents.insert(image.content);
  }
  return {contents.begin(), contents.end()};
}

Result<std::string> read_piece(int file, uint64_t offset, uint64_t total_bytes) {
  std::string bytes(std::min<uint64_t>(ingest::kMostSnapshotPieceBytes, total_bytes - offset), '\0');
  auto read = read_whole(file, offset, {reinterpret_cast<uint8_t*>(bytes.data()), bytes.size()}, "cannot read a piece");
  if (!read) return read.error();
  return bytes;
}

}  // namespace

SnapshotCourier::SnapshotCourier(SnapshotSpool& spool, std::unique_ptr<SnapshotLink> link,
                                 SnapshotCourierOptions options)
    : spool_(spool), link_(std::move(link)), options_(options), thread_([this] { run(); }) {}

SnapshotCourier::~SnapshotCourier() {
  {
    std::lock_guard lock(mutex_);
    stops_ = true;
  }
  changed_.notify_one();
  link_->cancel();
  thread_.join();
}

void SnapshotCourier::notify() {
  {
    std::lock_guard lock(mutex_);
    has_news_ = true;
  }
  changed_.notify_one();
}

bool SnapshotCourier::stops() {
  std::lock_guard lock(mutex_);
  return stops_;
}

void SnapshotCourier::run() {
  yield_to_requests();
  uint64_t pause_nano = options_.first_pause_nano;
  std::unique_lock lock(mutex_);
  while (!stops_) {
    has_news_ = false;
    lock.unlock();
    const Outcome outcome = send_all();
    lock.lock();
    if (outcome == Outcome::kSent) {
      pause_nano = options_.first_pause_nano;
      changed_.wait(lock, [this] { return stops_ || has_news_; });
      continue;
    }
    const std::chrono::nanoseconds wanted(std::clamp(asked_pause_nano_, pause_nano, options_.longest_pause_nano));
    changed_.wait_for(lock, wanted, [this] { return stops_; });  // news do not make the collector come back
    pause_nano = std::min(2 * pause_nano, options_.longest_pause_nano);
  }
}

SnapshotCourier::Outcome SnapshotCourier::send_all() {
  for (const SnapshotId& id : spool_.waiting()) {
    if (stops()) return Outcome::kLater;
    asked_pause_nano_ = 0;
    why_.clear();
    const Outcome outcome = send(id);
    if (outcome == Outcome::kRefused) refused(id);
    if (outcome == Outcome::kSent) continue;
    snapshot_retries().add();
    if (outcome == Outcome::kLater) return outcome;
  }
  return spool_.waiting().empty() ? Outcome::kSent : Outcome::kLater;
}

// Somebody may have begun the same content with other bytes: then it is sent from its begin, and is right.
void SnapshotCourier::refused(const SnapshotId& id) {
  if (++refusals_[id] < kAttempts) return;
  refusals_.erase(id);
  spool_.drop(id, "refused");
  log_warning("the collector does not take snapshot " + id.hex() + ": " + why_);
}

SnapshotCourier::Outcome SnapshotCourier::send(const SnapshotId& id) {
  auto opened = spool_.directory().open_snapshot(id);
  if (!opened && opened.error().code == ErrorCode::kNotFound) return Outcome::kSent;  // it had to make room
  if (!opened) {
    spool_.drop(id, "damaged");
    log_warning("a snapshot cannot be sent: " + opened.error().message);
    return Outcome::kSent;
  }
  const Outcome images = send_images(opened->snapshot());
  if (images != Outcome::kSent) return images;
  const Outcome sent = send_file({id, {}}, spool_.directory().snapshot_path(id));
  if (sent != Outcome::kSent) return sent;
  refusals_.erase(id);
  sent_snapshots().add();
  spool_.sent(id);
  return sent;
}

// A snapshot without an image that nobody can have is still worth having.
SnapshotCourier::Outcome SnapshotCourier::send_images(const snapshot::Snapshot& description) {
  const std::vector<Sha256> contents = contents_of(description);
  for (size_t at = 0; at < contents.size(); at += ingest::kMostAskedImages) {
    const size_t count = std::min(ingest::kMostAskedImages, contents.size() - at);
    auto missing = link_->missing_images(std::span(contents).subspan(at, count));
    if (!missing) return why_ = missing.error().message, Outcome::kLater;
    for (const Sha256& image : *missing) {
      if (send_image(image) == Outcome::kLater) return Outcome::kLater;
    }
  }
  return Outcome::kSent;
}

SnapshotCourier::Outcome SnapshotCourier::send_image(const Sha256& image) {
  if (!spool_.directory().has_image(image)) return Outcome::kSent;
  const Outcome outcome = send_file({{}, image}, spool_.directory().image_path(image));
  if (outcome == Outcome::kRefused) {
    refused_images().add();
    log_warning("the collector does not take image " + image.hex() + ": " + why_);
  }
  return outcome;
}

SnapshotCourier::Outcome SnapshotCourier::send_file(const ContentName& name, const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat about {};
  if (!file.open() || ::fstat(file.get(), &about) != 0) {
    return why_ = system_error("cannot read " + path).message, Outcome::kLater;
  }
  return send_pieces(name, file.get(), static_cast<uint64_t>(about.st_size));
}

SnapshotCourier::Outcome SnapshotCourier::send_pieces(const ContentName& name, int file, uint64_t total_bytes) {
  uint64_t offset = 0;
  uint32_t idle = 0;
  std::string bytes;  // none at first: it may have been begun already
  while (!stops()) {
    const PieceReply reply = link_->put(name, offset, total_bytes, bytes);
    why_ = reply.message;
    if (reply.state == State::kStored) return Outcome::kSent;
    if (reply.state == State::kRefused) return Outcome::kRefused;
    const bool is_wild = reply.state == State::kDue && reply.next_offset >= total_bytes;
    if (reply.state == State::kRetry || is_wild) return asked_pause_nano_ = reply.retry_after_nano, Outcome::kLater;
    if (reply.next_offset == offset + bytes.size())
      sent_snapshot_bytes().add(bytes.size());
    else if (++idle > kMostIdlePieces)
      return Outcome::kLater;
    offset = reply.next_offset;
    auto piece = read_piece(file, offset, total_bytes);
    if (!piece) return why_ = piece.error().message, Outcome::kLater;
    bytes = *std::move(piece);
  }
  return Outcome::kLater;
}

}  // namespace fathom::agent
