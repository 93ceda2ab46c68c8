// Any bytes as packets over a fixed piece of code: decoded without a crash or a hang, to code alone, and to the same
// whatever the shares.
#include <fcntl.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "snapshot/decode/analysis.h"
#include "snapshot/decode/packets.h"

namespace {

using namespace fathom;
using namespace fathom::snapshot;

constexpr uint64_t kBase = 0x401000;
// A conditional loop, a call, indirect transfers, system calls, PTWRITE, a jump to itself, bytes that are no code.
constexpr std::string_view kCode(
    "\x90\x48\x89\xd8\x74\xfa\xe8\x10\x00\x00\x00\xff\xd0\x0f\x05\x48\x0f\x07\xf3\x48\x0f\xae\xe0\x48\xcf\xff\xe0\xc3"
    "\x74\x02\xeb\xe0\xe8\xdb\xff\xff\xff\xc3\xeb\xfe\x0f\x01\xc1\x0f\x01\xc2\x0f\x22\xd8\xcc\xc3\x06\x06",
    52);

struct Items : FlowPart {
  void take(std::span<const FlowItem> more) override { items.insert(items.end(), more.begin(), more.end()); }
  std::vector<FlowItem> items;
};

struct Blocks : Analysis {
  std::unique_ptr<FlowPart> part(size_t) override { return std::make_unique<Items>(); }
  bool merge(std::unique_ptr<FlowPart> part) override {
    for (const auto& item : static_cast<Items&>(*part).items) {
      if (item.kind != FlowKind::kBlock) continue;
      if (item.ip < kBase || item.to < item.ip || item.to >= kBase + kCode.size()) std::abort();
      blocks.push_back(item);
      blocks.back().tsc = 0;
    }
    return true;
  }
  std::vector<FlowItem> blocks;
};

const SnapshotDirectory& directory() {
  static const SnapshotDirectory kPlace = [] {
    std::string name = "/tmp/decode_fuzz_XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    return *SnapshotDirectory::open(name);
  }();
  return kPlace;
}

Snapshot description() {
  static const SnapshotDirectory::StoredImage kStored = *directory().add_image_bytes(kCode);
  Snapshot snapshot;
  snapshot.timing = {3, 30, 1, 8, 0, 0, 0};
  Image image;
  image.kind = ImageKind::kFlat;
  image.content = kStored.content;
  image.bytes = kStored.bytes;
  snapshot.images.push_back(image);
  Sideband map;
  map.address = kBase;
  map.length = kCode.size();
  map.image = 0;
  snapshot.sideband.push_back(map);
  snapshot.streams.resize(1);
  return snapshot;
}

std::vector<FlowItem> blocks_of(const SnapshotFile& file, const DecodeOptions& options) {
  Blocks found;
  if (!decode_flow(file, directory(), options, found)) std::abort();
  return std::move(found.blocks);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const int memory = ::memfd_create("decode_fuzz", MFD_CLOEXEC);
  auto writer = SnapshotWriter::begin(Fd(::dup(memory)));
  if (!writer || !writer->packets(0, 0, {data, size}) || !writer->finish(description())) std::abort();
  auto file = SnapshotFile::open(Fd(memory));
  if (!file || !count_packets(*file)) std::abort();
  if (blocks_of(*file, {1, 1 << 20}) != blocks_of(*file, {2, 1})) std::abort();
  return 0;
}
