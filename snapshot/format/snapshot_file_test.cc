#include "snapshot/format/snapshot_file.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "base/testing/temp_directory.h"
#include "base/whole_io.h"
#include "snapshot/format/directory.h"
#include "snapshot/format/testing/samples.h"

namespace fathom::snapshot {
namespace {

class SnapshotFileTest : public testing::Test {
 protected:
  std::string file() const { return path_ + "/one"; }
  Fd fresh() const { return Fd(::open(file().c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)); }
  SnapshotId write(const Snapshot& snapshot, const std::string& packets) {
    auto writer = SnapshotWriter::begin(fresh());
    EXPECT_TRUE(writer.ok());
    EXPECT_TRUE(writer->packets(0, 100, as_bytes(packets)).ok());
    return *writer->finish(snapshot);
  }
  static std::span<const uint8_t> as_bytes(const std::string& text) {
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
  }
  void overwrite(const std::string& content) {
    Fd to = fresh();
    ASSERT_TRUE(write_whole(to.get(), content, "test").ok());
  }
  std::string content() const {
    std::string bytes(std::filesystem::file_size(file()), '\0');
    Fd from(::open(file().c_str(), O_RDONLY));
    EXPECT_TRUE(read_whole(from.get(), 0, {reinterpret_cast<uint8_t*>(bytes.data()), bytes.size()}, "test").ok());
    return bytes;
  }

  TempDirectory scratch_;
  const std::string path_ = scratch_.path();
};

TEST_F(SnapshotFileTest, ReadsWhatWasWritten) {
  Snapshot sample = sample_snapshot();
  const SnapshotId id = write(sample, "packets");
  auto opened = SnapshotFile::open(file());
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  sample.streams[0].pieces = {{100, 16, 7}};
  EXPECT_EQ(opened->snapshot(), sample);
  std::string packets(7, '\0');
  ASSERT_TRUE(opened->read(16, {reinterpret_cast<uint8_t*>(packets.data()), packets.size()}).ok());
  EXPECT_EQ(packets, "packets");
  EXPECT_EQ(id, write(sample_snapshot(), "packets"));
  EXPECT_NE(id, write(sample_snapshot(), "packet"));
}

TEST_F(SnapshotFileTest, ADescriptionBeyondTheReadersLimitIsRefusedBeforeItIsRead) {
  write(sample_snapshot(), "packets");
  auto reopened = [this] { return Fd(::open(file().c_str(), O_RDONLY | O_CLOEXEC)); };
  auto refused = SnapshotFile::open(reopened(), 10);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kExhausted);
  EXPECT_TRUE(SnapshotFile::open(reopened(), 4096).ok());
}

TEST_F(SnapshotFileTest, PiecesOfAStreamAreOneWhileTheyGoOn) {
  auto writer = SnapshotWriter::begin(fresh());
  ASSERT_TRUE(writer.ok());
  Snapshot snapshot;
  snapshot.streams.resize(2);
  for (auto [stream, offset] : {std::pair<size_t, uint64_t>{0, 0}, {0, 4}, {1, 0}, {0, 8}, {0, 100}}) {
    ASSERT_TRUE(writer->packets(stream, offset, as_bytes("abcd")).ok());
  }
  ASSERT_TRUE(writer->finish(snapshot).ok());
  auto opened = SnapshotFile::open(file());
  ASSERT_TRUE(opened.ok());
  const auto& streams = opened->snapshot().streams;
  EXPECT_EQ(streams[0].pieces, (std::vector<Stream::Piece>{{0, 16, 8}, {8, 28, 4}, {100, 32, 4}}));
  EXPECT_EQ(streams[1].pieces, (std::vector<Stream::Piece>{{0, 24, 4}}));
}

TEST_F(SnapshotFileTest, SidebandIsSortedByTime) {
  Snapshot snapshot;
  for (uint64_t tsc : {30, 10, 20}) snapshot.sideband.push_back({.kind = SidebandKind::kExit, .tsc = tsc});
  snapshot.streams.resize(1);
  write(snapshot, "x");
  auto opened = SnapshotFile::open(file());
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(opened->snapshot().sideband[0].tsc, 10u);
  EXPECT_EQ(opened->snapshot().sideband[2].tsc, 30u);
}

// Byte by byte as docs/formats/snapshot.md has it: files of other versions hold the same.
TEST_F(SnapshotFileTest, AnAddressFilterIsThisRow) {
  Snapshot snapshot;
  snapshot.sideband.push_back(address_filter_row("/a/b", 0x1000, 0x200, true));
  const std::string row("\x11\0\1\1\1\1\1\x80\2\0\x80\4\x80\x20\0\4/a/b\0", 21);
  const std::string all = encode_metadata(snapshot);
  EXPECT_NE(all.find("\1" + row + '\0'), std::string::npos) << all;
  auto decoded = decode_metadata(all, 0);
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded->sideband, snapshot.sideband);
}

TEST_F(SnapshotFileTest, RefusesEveryPrefix) {
  write(sample_snapshot(), "packets");
  const std::string whole = content();
  for (size_t size = 0; size < whole.size(); ++size) {
    overwrite(whole.substr(0, size));
    EXPECT_FALSE(SnapshotFile::open(file()).ok()) << size;
  }
}

TEST_F(SnapshotFileTest, RefusesAnotherVersionByName) {
  write(sample_snapshot(), "packets");
  std::string bytes = content();
  bytes[8] = 2;
  overwrite(bytes);
  auto opened = SnapshotFile::open(file());
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(opened.error().message.find("version 2"), std::string::npos);
}

TEST(SnapshotMetadataTest, DamageIsAnErrorOrAnotherDescription) {
  Snapshot sample = sample_snapshot();
  const std::string good = encode_metadata(sample);
  EXPECT_EQ(*decode_metadata(good, 1000), sample);
  std::mt19937 random(20261122);
  for (int round = 0; round < 20000; ++round) {
    std::string bad = good;
    bad[random() % bad.size()] = static_cast<char>(random());
    auto decoded = decode_metadata(bad, 1000);
    if (!decoded) continue;
    for (const Stream& stream : decoded->streams) {
      for (const auto& piece : stream.pieces) EXPECT_LE(piece.file_offset + piece.bytes, 1000u);
    }
    for (const Sideband& row : decoded->sideband) {
      EXPECT_TRUE(row.image == kNoImage || row.image < decoded->images.size());
    }
  }
}

TEST_F(SnapshotFileTest, ADirectoryKeepsWhatItIsGiven) {
  auto directory = SnapshotDirectory::open(path_ + "/directory");
  ASSERT_TRUE(directory.ok());
  EXPECT_EQ(directory->find("last").error().code, ErrorCode::kNotFound);
  auto draft = directory->draft();
  ASSERT_TRUE(draft.ok());
  auto writer = SnapshotWriter::begin(Fd(::open(draft->c_str(), O_WRONLY)));
  auto id = writer->finish({});
  ASSERT_TRUE(id.ok());
  ASSERT_TRUE(directory->publish(*draft, *id).ok());
  EXPECT_TRUE(directory->open_snapshot(*id).ok());
  EXPECT_EQ(*directory->find("last"), *id);
  EXPECT_EQ(*directory->find(id->hex().substr(0, 6)), *id);
  EXPECT_FALSE(directory->find("12").ok());

  auto image = directory->add_image_bytes("code");
  ASSERT_TRUE(image.ok());
  EXPECT_TRUE(directory->has_image(image->content));
  auto same = directory->add_image_file(directory->image_path(image->content));
  ASSERT_TRUE(same.ok());
  EXPECT_EQ(same->content, image->content);
  EXPECT_FALSE(directory->add_image_file(path_ + "/nothing").ok());

  EXPECT_EQ(directory->result("key"), std::nullopt);
  ASSERT_TRUE(directory->keep_result("key", "answer").ok());
  EXPECT_EQ(directory->result("key"), "answer");
}

TEST_F(SnapshotFileTest, TheLastOneIsTheLastThatWasMadeHere) {
  auto directory = SnapshotDirectory::open(path_ + "/directory");
  ASSERT_TRUE(directory.ok());
  std::vector<SnapshotId> ids;
  const auto publish = [&](const std::string& host) {
    auto draft = directory->draft();
    auto writer = SnapshotWriter::begin(Fd(::open(draft->c_str(), O_WRONLY)));
    Snapshot snapshot;
    snapshot.host = host;
    const SnapshotId id = *writer->finish(snapshot);
    EXPECT_TRUE(directory->publish(*draft, id).ok());
    return id;
  };
  const auto pulled = [&](const SnapshotId& id) { return path_ + "/directory/pulled/" + id.hex(); };
  const SnapshotId old = publish("old"), newer = publish("newer");
  const auto yesterday = std::filesystem::file_time_type::clock::now() - std::chrono::hours(24);
  std::filesystem::last_write_time(directory->snapshot_path(old), yesterday);
  EXPECT_EQ(*directory->find("last"), newer);
  std::filesystem::create_directory(path_ + "/directory/pulled");
  std::ofstream(pulled(newer)).flush();
  EXPECT_EQ(*directory->find("last"), old);
  EXPECT_EQ(*directory->list(), (std::vector{newer, old})) << "it is there all the same";
  std::ofstream(pulled(old)).flush();
  EXPECT_EQ(*directory->find("last"), newer) << "of those that were pulled the newest";
  EXPECT_EQ(publish("old"), old);
  EXPECT_FALSE(directory->is_pulled(old)) << "by now it was made here, too";
  ASSERT_TRUE(directory->remove(newer).ok());
  EXPECT_FALSE(std::filesystem::exists(pulled(newer)));
}

// However it was ended: nothing of an interrupted import stays for longer than until the next command.
TEST_F(SnapshotFileTest, DraftsOfProcessesThatEndedAreRemoved) {
  auto directory = SnapshotDirectory::open(path_ + "/store");
  ASSERT_TRUE(directory.ok());
  const std::string own = *directory->draft();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(directory->draft().ok() ? 0 : 1);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  const auto drafts = [&] {
    const std::filesystem::directory_iterator entries(path_ + "/store/drafts");
    return std::distance(begin(entries), end(entries));
  };
  EXPECT_EQ(drafts(), 2);
  ASSERT_TRUE(SnapshotDirectory::open(path_ + "/store").ok());
  EXPECT_EQ(drafts(), 1);
  EXPECT_TRUE(std::filesystem::exists(own));
}

TEST_F(SnapshotFileTest, RemovingTakesWhatNobodyElseNames) {
  auto directory = SnapshotDirectory::open(path_ + "/directory");
  ASSERT_TRUE(directory.ok());
  auto publish = [&](const std::string& host, const std::vector<Sha256>& images) {
    auto draft = directory->draft();
    auto writer = SnapshotWriter::begin(Fd(::open(draft->c_str(), O_WRONLY)));
    Snapshot snapshot;
    snapshot.host = host;
    for (const Sha256& content : images) snapshot.images.push_back({"image", "", ImageKind::kFlat, content, 1, ""});
    auto id = writer->finish(snapshot);
    EXPECT_TRUE(directory->publish(*draft, *id).ok());
    return *id;
  };
  const Sha256 own = directory->add_image_bytes("own")->content;
  const Sha256 shared = directory->add_image_bytes("shared")->content;
  const Sha256 fresh = directory->add_image_bytes("fresh")->content;
  const auto yesterday = std::filesystem::file_time_type::clock::now() - std::chrono::hours(24);
  for (const Sha256& old : {own, shared}) std::filesystem::last_write_time(directory->image_path(old), yesterday);
  const SnapshotId gone = publish("gone", {own, shared});
  const SnapshotId stays = publish("stays", {shared});
  ASSERT_TRUE(directory->keep_result(gone.hex() + "-key", "answer").ok());
  ASSERT_TRUE(directory->keep_result(stays.hex() + "-key", "answer").ok());
  ASSERT_TRUE(directory->remove(gone).ok());
  EXPECT_EQ(*directory->list(), std::vector{stays});
  EXPECT_FALSE(directory->has_image(own));
  EXPECT_TRUE(directory->has_image(shared));
  EXPECT_TRUE(directory->has_image(fresh)) << "of a snapshot that is being made";
  EXPECT_FALSE(directory->result(gone.hex() + "-key"));
  EXPECT_TRUE(directory->result(stays.hex() + "-key"));
  EXPECT_EQ(directory->remove(gone).error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace fathom::snapshot
