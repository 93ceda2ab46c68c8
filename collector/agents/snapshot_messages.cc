#include "collector/agents/snapshot_messages.h"

#include "collector/agents/message_fields.h"
#include "ingest.pb.h"
#include "proto/ingest_limits.h"

namespace fathom::collector {

namespace {

using Reply = fathom::ingest::v1::SnapshotPieceReply;

Result<> check(const SnapshotPiece& piece) {
  if (piece.snapshot.is_zero() == piece.image.is_zero()) {
    return invalid("a SnapshotPiece is of a snapshot or of an image, by an id of its size");
  }
  if (piece.content.size() > ingest::kMostSnapshotPieceBytes) return invalid("a SnapshotPiece has 1 MiB at most");
  if (piece.offset > piece.total_bytes || piece.content.size() > piece.total_bytes - piece.offset) {
    return invalid("a SnapshotPiece reaches beyond its total");
  }
  if (piece.total_bytes == 0) return invalid("a SnapshotPiece is of something that has bytes");
  return {};
}

}  // namespace

Result<SnapshotPiece> parse_snapshot_piece(std::string_view message) {
  SnapshotPiece piece;
  bool read = each_field(message, [&](const WireField& field) {
    if (field.tag == bytes_field(1)) return read_optional_id(field.bytes, piece.snapshot);
    if (field.tag == bytes_field(2)) return read_optional_id(field.bytes, piece.image);
    if (field.tag == varint_field(3)) piece.offset = field.bits;
    if (field.tag == varint_field(4)) piece.total_bytes = field.bits;
    if (field.tag == bytes_field(5)) piece.content = field.bytes;
    return true;
  });
  if (!read) return invalid("a SnapshotPiece is malformed, or has an id of a wrong size");
  if (auto sound = check(piece); !sound) return sound.error();
  return piece;
}

Result<std::vector<Sha256>> parse_image_names(std::string_view message) {
  std::vector<Sha256> names;
  bool read = each_field(message, [&](const WireField& field) {
    if (field.tag != bytes_field(1)) return true;
    return names.size() < ingest::kMostAskedImages && read_id(field.bytes, names.emplace_back());
  });
  if (!read) return invalid("ImageNames are malformed, of a wrong size, or more than 8192");
  return names;
}

std::string piece_reply(const Result<SnapshotPieceTaken>& taken, uint64_t retry_delay_nano) {
  Reply reply;
  if (taken) {
    reply.set_state(taken->stored ? Reply::STORED : Reply::DUE);
    reply.set_next_offset(taken->next_offset);
  } else {
    const bool may_pass = taken.error().code == ErrorCode::kUnavailable;
    reply.set_state(may_pass ? Reply::RETRY : Reply::REFUSED);
    if (may_pass) reply.set_retry_after_nano(retry_delay_nano);
    reply.set_message(text_of(taken.error().message));
  }
  return reply.SerializeAsString();
}

std::string missing_images_reply(const std::vector<Sha256>& missing) {
  fathom::ingest::v1::MissingImagesReply reply;
  for (const Sha256& image : missing) reply.add_sha256(std::string(image.view()));
  return reply.SerializeAsString();
}

std::string missing_images_retry(uint64_t retry_delay_nano) {
  fathom::ingest::v1::MissingImagesReply reply;
  reply.set_retry_after_nano(retry_delay_nano);
  return reply.SerializeAsString();
}

}  // namespace fathom::collector
