#include "query/snapshots/snapshot_store.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "base/fd.h"
#include "base/whole_io.h"
#include "query/snapshots/snapshot_counters.h"

namespace fathom::query {

namespace {

constexpr size_t kMostOfTrace = 100;
constexpr size_t kMostImages = 200'000;
constexpr uint64_t kUploadShare = 2;   // of the budget: one upload, and all drafts, at most a half
constexpr uint64_t kUnnamedShare = 4;  // and images that no snapshot names

Error no_snapshot(const SnapshotId& id) {
  return not_found("no snapshot " + id.hex() + " is stored; the oldest are dropped beyond the budget of snapshots");
}

Error still_reading() {
  return unavailable("the server still reads which snapshots it has; try again in a second");
}

SnapshotOptions with_clock(SnapshotOptions options) {
  if (options.clock == nullptr) options.clock = std::make_shared<const store::AgeClock>();
  return options;
}

UploadLimits with_budget(UploadLimits limits, uint64_t most_bytes) {
  if (most_bytes != 0) limits.most_draft_bytes = std::min(limits.most_draft_bytes, most_bytes / kUploadShare);
  return limits;
}

}  // namespace

Result<std::unique_ptr<SnapshotStore>> SnapshotStore::open(SnapshotOptions options, RunWorker run_worker,
                                                           LookInto look_into) {
  register_snapshot_counters();
  auto directory = snapshot::SnapshotDirectory::open(options.path);
  if (!directory) return directory.error();
  // Files in directories that are not durable themselves would be lost with them.
  Result<> durable = sync_new_directory(options.path);
  if (!durable) return unavailable(durable.error().message);
  // A process may have been killed after it named a file and before that name was durable. The store acknowledges such
  // a file when it is sent again.
  for (const char* folder : {"/snapshots", "/images"}) {
    if (durable = options.sync_directory(options.path + folder); !durable) return unavailable(durable.error().message);
  }
  return std::unique_ptr<SnapshotStore>(
      new SnapshotStore(std::move(options), std::move(run_worker), std::move(look_into), *std::move(directory)));
}

SnapshotStore::SnapshotStore(SnapshotOptions options, RunWorker run_worker, LookInto look_into,
                             snapshot::SnapshotDirectory directory)
    : options_(with_clock(std::move(options))),
      run_worker_(std::move(run_worker)),
      look_into_(std::move(look_into)),
      directory_(std::move(directory)),
      sources_(options_.source_directories),
      uploads_(directory_, with_budget(options_.uploads, options_.most_bytes),
               [this](const UploadPiece& piece, const std::string& draft) { return publish(piece, draft); }),
      thread_([this] { run(); }) {}

SnapshotStore::~SnapshotStore() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

bool SnapshotStore::is_stored(const ContentName& name) const {
  std::lock_guard lock(mutex_);
  if (name.is_image) return index_.has_image(*Sha256::from_hex_text(name.hex));
  const SharedSummary found = index_.find(*SnapshotId::from_hex_text(name.hex));
  return found != nullptr && !found->damaged;  // who has a damaged one may send it again
}

Result<UploadReply> SnapshotStore::take(const UploadPiece& piece, std::string_view bytes) {
  if (is_stored(piece.name)) return UploadReply{.offset = piece.total, .stored = true};
  if (bytes.empty()) return uploads_.take(piece, bytes);
  if (auto admitted = admit(piece, bytes.size()); !admitted) return admitted.error();
  return uploads_.take(piece, bytes);
}

Result<> SnapshotStore::admit(const UploadPiece& piece, uint64_t bytes) const {
  uint64_t most = piece.name.is_image ? kMostImageBytes : kMostSnapshotBytes;
  if (options_.most_bytes != 0) most = std::min(most, options_.most_bytes / kUploadShare);
  if (piece.total > most) {
    rejected_uploads("too_large").add();
    return exhausted("this has " + std::to_string(piece.total) + " bytes; the server keeps " + std::to_string(most) +
                     " at most (--retention-snapshots)");
  }
  std::lock_guard lock(mutex_);
  if (!read_) {
    refused_uploads("starting").add();
    return still_reading();
  }
  if (piece.name.is_image && is_crowded()) {
    refused_uploads("unnamed_images").add();
    return unavailable("there are too many images that no snapshot names; send the snapshots first");
  }
  return room_on_disk(bytes);
}

bool SnapshotStore::is_crowded() const {
  if (index_.images() >= kMostImages) return true;
  return options_.most_bytes != 0 && index_.bytes().unnamed_images > options_.most_bytes / kUnnamedShare;
}

std::vector<Sha256> SnapshotStore::missing_images(std::span<const Sha256> contents) {
  std::vector<Sha256> missing;
  const uint64_t now = options_.clock->now();
  std::lock_guard lock(mutex_);
  for (const Sha256& content : contents) {
    if (!index_.touch_image(content, now)) missing.push_back(content);
  }
  return missing;
}

Result<SnapshotPage> SnapshotStore::page(const SnapshotFilter& filter, size_t limit,
                                         const std::optional<SnapshotCursor>& cursor) {
  std::lock_guard lock(mutex_);
  if (!read_) return still_reading();
  return index_.page(filter, limit, cursor);
}

std::vector<SharedSummary> SnapshotStore::of_trace(const TraceId& trace_id) const {
  std::lock_guard lock(mutex_);
  return index_.page({.trace_id = trace_id, .host = {}}, kMostOfTrace, std::nullopt).rows;
}

size_t SnapshotStore::count_of_trace(const TraceId& trace_id) const {
  std::lock_guard lock(mutex_);
  return index_.count_of_trace(trace_id);
}

Result<std::vector<TraceId>> SnapshotStore::traces() const {
  std::lock_guard lock(mutex_);
  if (!read_) return still_reading();
  return index_.traces();
}

std::vector<SteppedProcess> SnapshotStore::stepped(const store::TimeRange& range) const {
  const std::lock_guard guard(mutex_);
  return index_.stepped(range);
}

Result<SharedSummary> SnapshotStore::find(const SnapshotId& id) const {
  std::lock_guard lock(mutex_);
  if (SharedSummary found = index_.find(id)) return found;
  if (!read_) return still_reading();
  return no_snapshot(id);
}

size_t SnapshotStore::missing_images(const SnapshotSummary& summary) const {
  std::lock_guard lock(mutex_);
  return index_.missing_images(summary);
}

bool SnapshotStore::has_image(const Sha256& content) const {
  std::lock_guard lock(mutex_);
  return index_.has_image(content);
}

Result<snapshot::Snapshot> SnapshotStore::description(const SnapshotId& id) const {
  if (auto found = find(id); !found) return found.error();
  std::lock_guard one_at_a_time(decoding_);
  Fd file(::open(directory_.snapshot_path(id).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.open()) return no_snapshot(id);
  auto opened = snapshot::SnapshotFile::open(std::move(file), kMostServedMetadataBytes);
  if (!opened) return opened.error();
  return opened->snapshot();
}

Result<std::string> SnapshotStore::read(const ContentName& name, uint64_t offset, size_t size) const {
  const std::string path = name.is_image ? directory_.image_path(*Sha256::from_hex_text(name.hex))
                                         : directory_.snapshot_path(*SnapshotId::from_hex_text(name.hex));
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat about {};
  if (!file.open() || ::fstat(file.get(), &about) != 0) {
    return not_found(std::string(name.is_image ? "no image " : "no snapshot ") + name.hex + " is stored");
  }
  const auto total = static_cast<uint64_t>(about.st_size);
  if (offset >= total) return std::string();
  std::string bytes(std::min<uint64_t>(size, total - offset), '\0');
  auto got = read_whole(file.get(), offset, {reinterpret_cast<uint8_t*>(bytes.data()), bytes.size()},
                        "cannot read what was uploaded");
  if (!got) return got.error();
  return bytes;
}

Result<std::string> SnapshotStore::ask(std::vector<std::string> words, store::QueryBudget& budget) const {
  if (!run_worker_) return Error{ErrorCode::kUnsupported, "this server has no fathom-worker to ask"};
  words.insert(words.begin(), {"--directory", options_.path});
  return run_worker_(words, budget);
}

Result<std::string> SnapshotStore::look_into(const SnapshotId& id, const std::string& ask,
                                             store::QueryBudget& budget) const {
  if (auto found = find(id); !found) return found.error();
  if (!look_into_) return Error{ErrorCode::kUnsupported, "this server has no fathom-worker to look into snapshots"};
  return look_into_(options_.path, id, ask, budget);
}

Result<snapshot::SourceText> SnapshotStore::source(const SnapshotId& id, const std::string& file, uint32_t line,
                                                   uint32_t context) const {
  if (auto found = find(id); !found) return found.error();
  return sources_.text(file, line, context);
}

}  // namespace fathom::query
