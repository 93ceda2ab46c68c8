#include "collector/agents/snapshot_messages.h"

#include "ingest.pb.h"
#include "ingest/fields.h"
#include "ingest/limits.h"

namespace fathom::collector {

namespace {

namespace wire = fathom::ingest::v1;
using Reply = wire::SnapshotPieceReply;

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

// Read in place: a piece may be a mebibyte.
Result<SnapshotPiece> parse_snapshot_piece(std::string_view message) {
  using Field = wire::SnapshotPiece;
  SnapshotPiece piece;
  bool read = ingest::each_field(message, [&](const WireField& field) {
    if (field.tag == bytes_field(Field::kSnapshotIdFieldNumber)) {
      return ingest::read_optional_id(field.bytes, piece.snapshot);
    }
    if (field.tag == bytes_field(Field::kImageSha256FieldNumber)) {
      return ingest::read_optional_id(field.bytes, piece.image);
    }
    if (field.tag == varint_field(Field::kOffsetFieldNumber)) piece.offset = field.bits;
    if (field.tag == varint_field(Field::kTotalBytesFieldNumber)) piece.total_bytes = field.bits;
    if (field.tag == bytes_field(Field::kContentFieldNumber)) piece.content = field.bytes;
    return true;
  });
  if (!read) return invalid("a SnapshotPiece is malformed, or has an id of a wrong size");
  if (auto sound = check(piece); !sound) return sound.error();
  return piece;
}

// Read in place: it ends at the first name that is too many, or of a wrong size.
Result<std::vector<Sha256>> parse_image_names(std::string_view message) {
  std::vector<Sha256> names;
  bool read = ingest::each_field(message, [&](const WireField& field) {
    if (field.tag != bytes_field(wire::ImageNames::kSha256FieldNumber)) return true;
    return names.size() < ingest::kMostAskedImages && ingest::read_id(field.bytes, names.emplace_back());
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
    reply.set_message(ingest::text_of(taken.error().message));
  }
  return reply.SerializeAsString();
}

std::string missing_images_reply(const std::vector<Sha256>& missing) {
  wire::MissingImagesReply reply;
  for (const Sha256& image : missing) reply.add_sha256(std::string(image.view()));
  return reply.SerializeAsString();
}

std::string missing_images_retry(uint64_t retry_delay_nano) {
  wire::MissingImagesReply reply;
  reply.set_retry_after_nano(retry_delay_nano);
  return reply.SerializeAsString();
}

}  // namespace fathom::collector
