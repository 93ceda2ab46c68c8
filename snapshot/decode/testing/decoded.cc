#include "snapshot/decode/testing/decoded.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace fathom::snapshot {
namespace {

struct RecorderPart : FlowPart {
  void take(std::span<const FlowItem> more) override { items.insert(items.end(), more.begin(), more.end()); }
  std::vector<FlowItem> items;
};

}  // namespace

std::unique_ptr<FlowPart> Recorder::part(size_t) {
  return std::make_unique<RecorderPart>();
}

bool Recorder::merge(std::unique_ptr<FlowPart> part) {
  const auto& more = static_cast<RecorderPart&>(*part).items;
  EXPECT_FALSE(more.empty());
  EXPECT_EQ(more.front().kind, FlowKind::kThread);
  items.insert(items.end(), more.begin(), more.end());
  return ++parts < stop_after;
}

SnapshotPlace::SnapshotPlace() {
  std::string name = testing::TempDir() + "decoded_XXXXXX";
  EXPECT_NE(::mkdtemp(name.data()), nullptr);
  path_ = name;
  auto opened = SnapshotDirectory::open(path_);
  EXPECT_TRUE(opened.ok());
  directory_ = std::move(*opened);
}

SnapshotPlace::~SnapshotPlace() {
  std::filesystem::remove_all(path_);
}

uint32_t SnapshotPlace::add_code(Snapshot& snapshot, const std::string& bytes, uint64_t address, int32_t pid,
                                 uint64_t tsc) {
  auto stored = directory_->add_image_bytes(bytes);
  EXPECT_TRUE(stored.ok());
  Image image;
  image.name = "[code]";
  image.kind = ImageKind::kFlat;
  image.content = stored->content;
  image.bytes = stored->bytes;
  snapshot.images.push_back(image);
  Sideband map;
  map.tsc = tsc;
  map.pid = pid;
  map.address = address;
  map.length = bytes.size();
  map.image = static_cast<uint32_t>(snapshot.images.size() - 1);
  snapshot.sideband.push_back(map);
  return map.image;
}

SnapshotFile SnapshotPlace::write(Snapshot snapshot, const std::vector<std::string>& streams) {
  auto draft = directory_->draft();
  EXPECT_TRUE(draft.ok());
  auto writer = SnapshotWriter::begin(Fd(::open(draft->c_str(), O_RDWR | O_CLOEXEC)));
  EXPECT_TRUE(writer.ok());
  if (snapshot.streams.size() < streams.size()) snapshot.streams.resize(streams.size());
  for (size_t at = 0; at < streams.size(); ++at) {
    EXPECT_TRUE(
        writer->packets(at, 0, {reinterpret_cast<const uint8_t*>(streams[at].data()), streams[at].size()}).ok());
  }
  EXPECT_TRUE(writer->finish(std::move(snapshot)).ok());
  auto file = SnapshotFile::open(*draft);
  EXPECT_TRUE(file.ok());
  std::filesystem::remove(*draft);
  return std::move(*file);
}

std::vector<uint64_t> addresses(const std::vector<FlowItem>& items, const Program& program) {
  std::vector<uint64_t> all;
  for (const auto& item : items) {
    if (item.kind != FlowKind::kBlock) continue;
    uint64_t ip = item.ip;
    for (uint32_t number = 0; number < item.count; ++number) {
      all.push_back(program.holds(ip) ? ip : UINT64_MAX);
      if (number + 1 == item.count && ip != item.to) all.back() = UINT64_MAX;
      if (program.holds(ip)) ip += program.instruction(ip).size;
    }
  }
  return all;
}

}  // namespace fathom::snapshot
