// Uploads: snapshots and images on their way into the server's directory, piece by piece.
//
// Purpose: gigabytes come over HTTP without being held, and what broke off goes on where it stopped. Pieces of one
// content come in order; one that does not is answered with the offset that is due (a conflict), which is how several
// who send the same thing settle: whoever has the next piece brings it. Nothing has a name before all of it is here,
// its hash is its name, and `publish` has found it sound. Uploads that say different totals are different ones, so that
// a stranger's lie stops nobody. After a restart uploads begin anew. Thread safety: all of it. take() waits for the
// disk: never call it on a thread that has connections to serve. Ownership: drafts are removed with their uploads;
// the directory must outlive this. Errors: kUnavailable may be tried again; after kInvalid, kCorrupt and kExhausted at
// the end of an upload it begins anew. Losses: snapshot_counters.h.
#pragma once

#include <atomic>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "snapshot/format/directory.h"

namespace fathom::query {

inline constexpr uint64_t kMostPieceBytes = 8 << 20;

// What is uploaded: the first 32 digits of a snapshot's SHA-256, or all 64 of an image's; lower case.
struct ContentName {
  bool is_image = false;
  std::string hex;

  auto operator<=>(const ContentName&) const = default;
};

struct UploadPiece {
  ContentName name;
  uint64_t offset = 0;
  uint64_t total = 0;
};

struct UploadReply {
  uint64_t offset = 0;    // that is due next
  bool stored = false;    // all of it is here, under its name
  bool conflict = false;  // another offset was due; nothing was taken
};

struct UploadLimits {
  uint64_t idle_nano = kNanosPerHour;
  size_t most_uploads = 64;
  uint64_t most_draft_bytes = 10ULL << 30;  // of all uploads under way
};

class Uploads {
 public:
  // Gives a draft that is whole and synced its name.
  using Publish = std::function<Result<>(const UploadPiece&, const std::string& draft)>;
  using Clock = std::function<uint64_t()>;  // monotonic

  Uploads(const snapshot::SnapshotDirectory& directory, UploadLimits limits, Publish publish,
          Clock now = now_monotonic_nano);
  ~Uploads();

  // No bytes: a question for the offset that is due.
  Result<UploadReply> take(const UploadPiece& piece, std::string_view bytes);
  // Ends those that nothing came for.
  void end_idle();
  size_t under_way() const;
  uint64_t draft_bytes() const;

 private:
  struct Key {
    ContentName name;
    uint64_t total;
    auto operator<=>(const Key&) const = default;
  };
  class Upload;
  using Table = std::map<Key, std::shared_ptr<Upload>>;

  Result<std::shared_ptr<Upload>> find_or_begin(const UploadPiece& piece);
  Result<> make_room();
  Result<UploadReply> append(Upload& upload, const UploadPiece& piece, std::string_view bytes);
  Result<> complete(Upload& upload, const UploadPiece& piece);
  void drop(Table::iterator upload, std::string_view reason);
  void forget(const UploadPiece& piece, const Upload& upload);

  const snapshot::SnapshotDirectory& directory_;
  const UploadLimits limits_;
  const Publish publish_;
  const Clock now_;
  mutable std::mutex mutex_;  // of the table
  Table table_;
  std::atomic<uint64_t> draft_bytes_{0};
};

}  // namespace fathom::query
