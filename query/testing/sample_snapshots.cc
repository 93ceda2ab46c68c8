#include "query/testing/sample_snapshots.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace fathom::query::testing {

namespace {

constexpr int64_t kFirstTaken = 1'795'000'000'000'000'000;

std::string content_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

}  // namespace

MadeSnapshot made_snapshot(snapshot::Snapshot snapshot, const std::string& packets) {
  TempDirectory directory;
  const std::string path = directory.path() + "/one";
  if (snapshot.streams.empty()) snapshot.streams.resize(1);
  auto writer = snapshot::SnapshotWriter::begin(Fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)));
  EXPECT_TRUE(writer.ok());
  EXPECT_TRUE(writer->packets(0, 0, {reinterpret_cast<const uint8_t*>(packets.data()), packets.size()}).ok());
  auto id = writer->finish(std::move(snapshot));
  EXPECT_TRUE(id.ok());
  return {*id, content_of(path)};
}

std::string image_of(uint64_t n) {
  return "image number " + std::to_string(n);
}

snapshot::Snapshot numbered_snapshot(uint64_t n) {
  snapshot::Snapshot snapshot;
  snapshot.engine = snapshot::Engine::kStep;
  snapshot.host = "node-" + std::to_string(n % 2);
  snapshot.command = "shop --number " + std::to_string(n);
  snapshot.taken_unix_nano = kFirstTaken + static_cast<int64_t>(n * kNanosPerSecond);
  snapshot.images.push_back({.name = "/usr/bin/shop",
                             .build_id = "\x01\x02",
                             .kind = snapshot::ImageKind::kElf,
                             .content = sha256(image_of(n)),
                             .bytes = image_of(n).size(),
                             .missing = ""});
  return snapshot;
}

SampleSnapshots::SampleSnapshots(SnapshotOptions options)
    : path_(directory_.path() + "/snapshots"), options_(std::move(options)) {
  options_.path = path_;
  clock_ = std::make_shared<store::AgeClock>([this] {
    const uint64_t now = now_unix_nano;
    return store::ClockReading{"boot", now, now + static_cast<uint64_t>(step_nano.load())};
  });
  options_.clock = clock_;
  options_.tick_nano = kNanosPerHour;  // tests tick themselves
  restart();
}

void SampleSnapshots::restart() {
  store_.reset();
  auto opened = SnapshotStore::open(
      options_,
      [this](const auto& words, store::QueryBudget& budget) {
        return worker ? worker(words, budget) : Result<std::string>(internal("no worker"));
      },
      [this](const auto& directory, const auto& id, const auto& ask, store::QueryBudget& budget) {
        return view ? view(directory, id, ask, budget) : Result<std::string>(internal("no view"));
      });
  EXPECT_TRUE(opened.ok()) << (opened.ok() ? "" : opened.error().message);
  store_ = *std::move(opened);
  store_->wait_until_read();
}

Result<UploadReply> SampleSnapshots::upload(const ContentName& name, const std::string& bytes, size_t piece_bytes) {
  UploadPiece piece{.name = name, .offset = 0, .total = bytes.size()};
  while (true) {
    auto reply = store_->take(piece, std::string_view(bytes).substr(piece.offset, piece_bytes));
    if (!reply || reply->stored) return reply;
    piece.offset = reply->offset;
  }
}

bool SampleSnapshots::has_file(const std::string& name) const {
  return std::filesystem::exists(path_ + "/" + name);
}

}  // namespace fathom::query::testing
