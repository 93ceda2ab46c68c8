#include "query/snapshots/uploads.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "query/snapshots/snapshot_counters.h"
#include "query/snapshots/upload.h"

namespace fathom::query {

namespace {

constexpr uint64_t kPatienceNano = kNanosPerMinute;  // with who sends nothing while others find no place

Error refuse(std::string_view reason, std::string message) {
  refused_uploads(reason).add();
  return unavailable(std::move(message));
}

std::string_view rejection_of(const Error& error) {
  return error.code == ErrorCode::kExhausted ? "too_large" : "damaged";
}

}  // namespace

Uploads::Uploads(const snapshot::SnapshotDirectory& directory, UploadLimits limits, Publish publish, Clock now)
    : directory_(directory), limits_(limits), publish_(std::move(publish)), now_(std::move(now)) {}

Uploads::~Uploads() {
  std::lock_guard lock(mutex_);
  while (!table_.empty()) drop(table_.begin(), "stopping");
}

Result<UploadReply> Uploads::take(const UploadPiece& piece, std::string_view bytes) {
  if (bytes.empty() || piece.offset != 0) {
    std::lock_guard lock(mutex_);
    auto found = table_.find({piece.name, piece.total});
    const uint64_t due = found == table_.end() ? 0 : found->second->size();
    if (bytes.empty()) return UploadReply{.offset = due};
    if (found == table_.end()) return UploadReply{.offset = 0, .conflict = true};
  }
  auto upload = find_or_begin(piece);
  if (!upload) return upload.error();
  std::unique_lock lock((*upload)->mutex, std::try_to_lock);
  if (!lock.owns_lock() || (*upload)->over) return unavailable("another piece of this is being taken; try again");
  return append(**upload, piece, bytes);
}

Result<std::shared_ptr<Uploads::Upload>> Uploads::find_or_begin(const UploadPiece& piece) {
  std::lock_guard lock(mutex_);
  auto found = table_.find({piece.name, piece.total});
  if (found != table_.end()) return found->second;
  if (auto room = make_room(); !room) return room.error();
  auto begun = Upload::begin(directory_, draft_bytes_, now_());
  if (!begun) {
    refused_uploads("write_failed").add();
    return begun.error();
  }
  table_.emplace(Key{piece.name, piece.total}, *begun);
  uploads_under_way().add(1);
  return *begun;
}

// One that is slow makes room for one that is not; all of them being at work is nobody's fault.
Result<> Uploads::make_room() {
  if (table_.size() < limits_.most_uploads) return {};
  auto idlest = std::ranges::min_element(table_, {}, [](const auto& entry) { return entry.second->used_nano.load(); });
  if (idlest == table_.end() || now_() - idlest->second->used_nano < kPatienceNano) {
    return refuse("uploads", "too many uploads are under way; try again in a second");
  }
  drop(idlest, "replaced");
  return {};
}

Result<UploadReply> Uploads::append(Upload& upload, const UploadPiece& piece, std::string_view bytes) {
  if (piece.offset != upload.size()) return UploadReply{.offset = upload.size(), .conflict = true};
  if (bytes.size() > piece.total - piece.offset) return invalid("this piece goes beyond the total that it names");
  if (draft_bytes() + bytes.size() > limits_.most_draft_bytes) {
    return refuse("drafts", "uploads under way take all the room that there is for them; try again later");
  }
  upload.used_nano = now_();
  if (auto appended = upload.append(bytes); !appended) {
    refused_uploads("write_failed").add();
    upload.over = true;
    forget(piece, upload);
    return appended.error();
  }
  if (upload.size() < piece.total) return UploadReply{.offset = upload.size()};
  auto completed = complete(upload, piece);
  upload.over = true;
  forget(piece, upload);
  if (!completed) return completed.error();
  return UploadReply{.offset = piece.total, .stored = true};
}

Result<> Uploads::complete(Upload& upload, const UploadPiece& piece) {
  auto hash = upload.finish();
  if (!hash) {
    refused_uploads("write_failed").add();
    return hash.error();
  }
  if (!hash->hex().starts_with(piece.name.hex)) {
    rejected_uploads("hash").add();
    return invalid("what came has the SHA-256 " + hash->hex() +
                   " and so not the name that it was sent under; send it "
                   "again from offset 0");
  }
  auto published = publish_(piece, upload.draft());
  if (!published && published.error().code != ErrorCode::kUnavailable) {
    rejected_uploads(rejection_of(published.error())).add();
  }
  return published;
}

void Uploads::drop(Table::iterator upload, std::string_view reason) {
  abandoned_uploads(reason).add();
  uploads_under_way().add(-1);
  table_.erase(upload);
}

// Another one may have begun under this name, after this one had to make room.
void Uploads::forget(const UploadPiece& piece, const Upload& upload) {
  std::lock_guard lock(mutex_);
  auto found = table_.find({piece.name, piece.total});
  if (found == table_.end() || found->second.get() != &upload) return;
  table_.erase(found);
  uploads_under_way().add(-1);
}

void Uploads::end_idle() {
  std::lock_guard lock(mutex_);
  for (auto entry = table_.begin(); entry != table_.end();) {
    auto next = std::next(entry);
    if (now_() - std::min(now_(), entry->second->used_nano.load()) > limits_.idle_nano) drop(entry, "idle");
    entry = next;
  }
}

size_t Uploads::under_way() const {
  std::lock_guard lock(mutex_);
  return table_.size();
}

uint64_t Uploads::draft_bytes() const {
  return draft_bytes_.load();
}

}  // namespace fathom::query
