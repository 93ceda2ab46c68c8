#include "bench/snapshot/written_stream.h"

namespace fathom::bench {
namespace {

using namespace fathom::snapshot;

Snapshot describe(const MadeStream& stream, const SnapshotDirectory::StoredImage& code) {
  Snapshot snapshot;
  snapshot.timing = stream.timing;
  snapshot.streams.push_back({.cpu = -1, .pid = 1, .tid = 1, .pieces = {}});
  Image image;
  image.name = "[made]";
  image.kind = ImageKind::kFlat;
  image.content = code.content;
  image.bytes = code.bytes;
  snapshot.images.push_back(image);
  Sideband map;
  map.pid = 1;
  map.address = stream.base;
  map.length = code.bytes;
  map.image = 0;
  snapshot.sideband.push_back(map);
  return snapshot;
}

}  // namespace

Result<WrittenStream> write_stream(const SnapshotDirectory& directory, const MadeStream& stream, int repeats) {
  auto image = directory.add_image_bytes(stream.code);
  if (!image) return image.error();
  auto draft = directory.draft();
  if (!draft) return draft.error();
  auto writer = SnapshotWriter::begin(Fd(::open(draft->c_str(), O_WRONLY | O_CLOEXEC)));
  if (!writer) return writer.error();
  const std::span bytes(reinterpret_cast<const uint8_t*>(stream.packets.data()), stream.packets.size());
  for (int turn = 0; turn < repeats; ++turn) {
    if (auto written = writer->packets(0, static_cast<uint64_t>(turn) * bytes.size(), bytes); !written) {
      return written.error();
    }
  }
  auto id = writer->finish(describe(stream, *image));
  if (!id) return id.error();
  if (auto named = directory.publish(*draft, *id); !named) return named.error();
  return WrittenStream{*id, directory.image_path(image->content)};
}

}  // namespace fathom::bench
