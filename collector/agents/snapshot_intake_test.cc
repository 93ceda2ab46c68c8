// Agents' snapshots, from their messages to the sink, by themselves and over gRPC.
#include "collector/agents/snapshot_intake.h"

#include <gtest/gtest.h>

#include <future>

#include <grpcpp/grpcpp.h>

#include "collector/agents/snapshot_messages.h"
#include "collector/collector.h"
#include "collector/testing/fake_store.h"
#include "ingest.grpc.pb.h"
#include "ingest/limits.h"

namespace fathom::collector {
namespace {

namespace wire = fathom::ingest::v1;

wire::SnapshotPiece piece_of(const std::string& content, uint64_t offset = 0, uint64_t total = 0) {
  wire::SnapshotPiece piece;
  piece.set_snapshot_id(std::string(16, 's'));
  piece.set_offset(offset);
  piece.set_total_bytes(total == 0 ? offset + content.size() : total);
  piece.set_content(content);
  return piece;
}

// Keeps what comes; says what it is told to.
class FakeSink : public SnapshotSink {
 public:
  Result<SnapshotPieceTaken> take(const SnapshotPiece& piece) override {
    std::lock_guard lock(mutex_);
    if (refuses) return *refuses;
    content_ += piece.content;
    last_is_image = piece.snapshot.is_zero();
    const bool stored = content_.size() == piece.total_bytes;
    return SnapshotPieceTaken{content_.size(), stored};
  }
  std::vector<Sha256> missing_images(std::span<const Sha256> images) override { return {images.back()}; }
  std::string content() {
    std::lock_guard lock(mutex_);
    return content_;
  }

  std::optional<Error> refuses;
  bool last_is_image = false;

 private:
  std::mutex mutex_;
  std::string content_;
};

wire::SnapshotPieceReply put(SnapshotIntake& intake, const wire::SnapshotPiece& piece) {
  std::promise<Result<std::string>> promise;
  intake.put(piece.SerializeAsString(), [&](Result<std::string> reply) { promise.set_value(std::move(reply)); });
  Result<std::string> encoded = promise.get_future().get();
  EXPECT_TRUE(encoded.ok());
  wire::SnapshotPieceReply reply;
  EXPECT_TRUE(reply.ParseFromString(encoded ? *encoded : ""));
  return reply;
}

TEST(SnapshotMessages, WhatNoAgentSaysIsRefused) {
  auto refused = [](const wire::SnapshotPiece& piece) { return !parse_snapshot_piece(piece.SerializeAsString()).ok(); };
  EXPECT_FALSE(refused(piece_of("abc")));
  wire::SnapshotPiece piece = piece_of("abc");
  piece.set_image_sha256(std::string(32, 'i'));
  EXPECT_TRUE(refused(piece)) << "both";
  piece.clear_snapshot_id();
  EXPECT_FALSE(refused(piece));
  piece.set_image_sha256("short");
  EXPECT_TRUE(refused(piece));
  piece.clear_image_sha256();
  EXPECT_TRUE(refused(piece)) << "neither";
  EXPECT_TRUE(refused(piece_of("abc", 1, 3))) << "beyond the total";
  EXPECT_TRUE(refused(piece_of("abc", UINT64_MAX, 3)));
  EXPECT_TRUE(refused(piece_of("", 0, 0)));
  EXPECT_FALSE(refused(piece_of("", 0, 9))) << "a question";
  EXPECT_TRUE(refused(piece_of(std::string(ingest::kMostSnapshotPieceBytes + 1, 'x'))));
  EXPECT_FALSE(parse_snapshot_piece("\xff\xff").ok());
}

TEST(SnapshotMessages, NamesOfImagesAreBounded) {
  wire::ImageNames names;
  for (size_t i = 0; i < ingest::kMostAskedImages; ++i) names.add_sha256(std::string(32, 'i'));
  EXPECT_TRUE(parse_image_names(names.SerializeAsString()).ok());
  names.add_sha256(std::string(32, 'i'));
  EXPECT_FALSE(parse_image_names(names.SerializeAsString()).ok());
  names.Clear();
  names.add_sha256("short");
  EXPECT_FALSE(parse_image_names(names.SerializeAsString()).ok());
}

TEST(SnapshotIntake, SaysWhatIsDueAndWhenAllIsThere) {
  FakeSink sink;
  SnapshotIntake intake({}, &sink);
  EXPECT_EQ(put(intake, piece_of("", 0, 6)).state(), wire::SnapshotPieceReply::DUE);
  const auto due = put(intake, piece_of("abc", 0, 6));
  EXPECT_EQ(due.state(), wire::SnapshotPieceReply::DUE);
  EXPECT_EQ(due.next_offset(), 3u);
  EXPECT_EQ(put(intake, piece_of("def", 3, 6)).state(), wire::SnapshotPieceReply::STORED);
  EXPECT_EQ(sink.content(), "abcdef");
  EXPECT_FALSE(sink.last_is_image);
}

TEST(SnapshotIntake, WhatMayPassIsTriedAgainAndTheRestIsRefused) {
  FakeSink sink;
  SnapshotIntake intake({.retry_delay_nano = 77}, &sink);
  sink.refuses = unavailable("the disk is nearly full");
  const auto later = put(intake, piece_of("abc"));
  EXPECT_EQ(later.state(), wire::SnapshotPieceReply::RETRY);
  EXPECT_EQ(later.retry_after_nano(), 77u);
  EXPECT_EQ(later.message(), "the disk is nearly full");
  sink.refuses = exhausted("too large");
  EXPECT_EQ(put(intake, piece_of("abc")).state(), wire::SnapshotPieceReply::REFUSED);
}

TEST(SnapshotIntake, WithoutRoomOrSinkOrAtItsEndItIsTriedAgain) {
  FakeSink sink;
  SnapshotIntake small({.budget_bytes = 10}, &sink);
  EXPECT_EQ(put(small, piece_of("abc")).state(), wire::SnapshotPieceReply::RETRY);
  SnapshotIntake none({}, nullptr);
  EXPECT_EQ(put(none, piece_of("abc")).state(), wire::SnapshotPieceReply::RETRY);
  none.stop();
  EXPECT_EQ(put(none, piece_of("abc")).state(), wire::SnapshotPieceReply::RETRY);
}

class SnapshotCallsTest : public ::testing::Test {
 protected:
  void start(SnapshotSink* sink) {
    CollectorOptions options;
    options.otlp_grpc_address = options.otlp_http_address = "";
    options.ingest_address = "127.0.0.1:0";
    options.snapshots = sink;
    collector_ = std::make_unique<Collector>(options, store_);
    auto addresses = collector_->start();
    ASSERT_TRUE(addresses.ok()) << addresses.error().message;
    stub_ = wire::Ingest::NewStub(grpc::CreateChannel(addresses->ingest, grpc::InsecureChannelCredentials()));
  }
  grpc::Status put(const wire::SnapshotPiece& piece) {
    grpc::ClientContext context;
    return stub_->PutSnapshotPiece(&context, piece, &reply_);
  }

  testing::FakeStore store_;
  FakeSink sink_;
  std::unique_ptr<Collector> collector_;
  std::unique_ptr<wire::Ingest::Stub> stub_;
  wire::SnapshotPieceReply reply_;
};

TEST_F(SnapshotCallsTest, PiecesAndQuestionsComeThrough) {
  start(&sink_);
  const std::string content(ingest::kMostSnapshotPieceBytes, 'c');
  ASSERT_TRUE(put(piece_of(content, 0, 2 * content.size())).ok());
  EXPECT_EQ(reply_.next_offset(), content.size());
  ASSERT_TRUE(put(piece_of(content, content.size())).ok());
  EXPECT_EQ(reply_.state(), wire::SnapshotPieceReply::STORED);
  EXPECT_EQ(sink_.content().size(), 2 * content.size());
  grpc::ClientContext context;
  wire::ImageNames names;
  names.add_sha256(std::string(32, 'a'));
  names.add_sha256(std::string(32, 'b'));
  wire::MissingImagesReply missing;
  ASSERT_TRUE(stub_->MissingImages(&context, names, &missing).ok());
  ASSERT_EQ(missing.sha256_size(), 1);
  EXPECT_EQ(missing.sha256(0), std::string(32, 'b'));
}

TEST_F(SnapshotCallsTest, WhatNoAgentSendsIsRefused) {
  start(&sink_);
  EXPECT_EQ(put(piece_of("abc", 3, 3)).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(put(piece_of(std::string(2 << 20, 'x'))).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(sink_.content(), "");
}

TEST_F(SnapshotCallsTest, WithoutSnapshotsAgentsAreToKeepThem) {
  start(nullptr);
  ASSERT_TRUE(put(piece_of("abc")).ok());
  EXPECT_EQ(reply_.state(), wire::SnapshotPieceReply::RETRY);
  EXPECT_GT(reply_.retry_after_nano(), 0u);
}

}  // namespace
}  // namespace fathom::collector
