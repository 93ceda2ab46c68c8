#include "apps/server/snapshot_sink.h"

namespace fathom {

namespace {

class StoreSink final : public collector::SnapshotSink {
 public:
  explicit StoreSink(query::SnapshotStore& store) : store_(store) {}

  Result<collector::SnapshotPieceTaken> take(const collector::SnapshotPiece& piece) override {
    const bool is_image = piece.snapshot.is_zero();
    const query::ContentName name{is_image, is_image ? piece.image.hex() : piece.snapshot.hex()};
    auto reply = store_.take({name, piece.offset, piece.total_bytes}, piece.content);
    if (!reply) return reply.error();
    return collector::SnapshotPieceTaken{reply->offset, reply->stored};
  }
  std::vector<Sha256> missing_images(std::span<const Sha256> images) override { return store_.missing_images(images); }

 private:
  query::SnapshotStore& store_;
};

}  // namespace

std::unique_ptr<collector::SnapshotSink> make_snapshot_sink(query::SnapshotStore& store) {
  return std::make_unique<StoreSink>(store);
}

}  // namespace fathom
