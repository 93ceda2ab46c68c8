#include "apps/worker/import_remarks.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "cli/text.h"
#include "snapshot/decode/packet_stream.h"
#include "snapshot/decode/psb.h"

namespace fathom {
namespace {

using snapshot::Image;
using snapshot::PacketStream;
using snapshot::Sideband;
using snapshot::SidebandKind;
using snapshot::Snapshot;
using snapshot::SnapshotDirectory;
using snapshot::SnapshotFile;
using snapshot::SnapshotId;

constexpr size_t kMostRemarks = 5;
constexpr uint64_t kWindowBytes = 1 << 20;

struct Missing {
  std::string reason;
  std::string first;
  size_t count = 0;
};

// By reason, in the order of the first of each.
std::vector<Missing> missing_images(const Snapshot& snapshot) {
  std::vector<Missing> all;
  for (const Image& image : snapshot.images) {
    if (!image.content.is_zero()) continue;
    auto same = std::ranges::find(all, image.missing, &Missing::reason);
    if (same == all.end()) same = all.insert(all.end(), {image.missing, image.name, 0});
    ++same->count;
  }
  return all;
}

void remark_on_images(const Snapshot& snapshot, const WorkerStreams& streams) {
  size_t left = static_cast<size_t>(std::ranges::count_if(snapshot.images, &Id<32>::is_zero, &Image::content));
  if (left == 0) return;
  streams.remark(std::to_string(left) + " of " + std::to_string(snapshot.images.size()) +
                 " images are missing; what runs in them will be gaps:");
  const std::vector<Missing> all = missing_images(snapshot);
  for (size_t i = 0; i < std::min(all.size(), kMostRemarks); ++i) {
    const std::string more = all[i].count == 1 ? "" : " and " + std::to_string(all[i].count - 1) + " like it";
    streams.remark("  " + cli::printable(all[i].first) + more + ": " + cli::printable(all[i].reason));
    left -= all[i].count;
  }
  if (left > 0) streams.remark("  and " + std::to_string(left) + " more");
}

// The first synchronisation point is mostly near; a recording without any is read to its end.
Result<bool> stretch_has_psb(const PacketStream& packets, size_t stretch) {
  std::vector<uint8_t> window;
  for (uint64_t at = 0; at < packets.bytes(stretch); at += kWindowBytes) {
    const uint64_t ahead = kWindowBytes + snapshot::kPsbBytes;
    window.resize(std::min(ahead, packets.bytes(stretch) - at));
    if (auto read = packets.read(stretch, at, window); !read) return read.error();
    if (snapshot::find_psb(window, 0) < window.size()) return true;
  }
  return false;
}

Result<bool> has_psb(const SnapshotFile& file) {
  for (size_t stream = 0; stream < file.snapshot().streams.size(); ++stream) {
    const PacketStream packets(file, stream);
    for (size_t stretch = 0; stretch < packets.stretches(); ++stretch) {
      auto found = stretch_has_psb(packets, stretch);
      if (!found || *found) return found;
    }
  }
  return false;
}

// The later of two maps is what the decoder goes by.
void remark_on_overlap(const Snapshot& snapshot, const Sideband& map, const Sideband& later,
                       const WorkerStreams& streams) {
  const uint64_t begin = std::max(map.address, later.address);
  if (map.image == later.image || begin >= std::min(map.address + map.length, later.address + later.length)) return;
  char at[32];
  std::snprintf(at, sizeof at, "0x%llx", static_cast<unsigned long long>(begin));
  streams.remark("two images lie at " + std::string(at) + ": " + cli::printable(snapshot.images[later.image].name) +
                 ", which was named later, hides " + cli::printable(snapshot.images[map.image].name) + " there");
}

void remark_on_placed_images(const Snapshot& snapshot, const WorkerStreams& streams) {
  if (snapshot.images.empty()) {
    streams.remark("no --image FILE: nothing is known of the code, so that all of it will be gaps");
  }
  std::vector<const Sideband*> maps;
  for (const Sideband& row : snapshot.sideband) {
    if (row.kind == SidebandKind::kMap && row.image < snapshot.images.size()) maps.push_back(&row);
  }
  for (size_t later = 0; later < maps.size(); ++later) {
    for (size_t map = 0; map < later; ++map) remark_on_overlap(snapshot, *maps[map], *maps[later], streams);
  }
}

void remark_on_options(const Snapshot& snapshot, const WorkerStreams& streams) {
  const snapshot::Timing& timing = snapshot.timing;
  if (!snapshot.cpu.intel) streams.remark("no --cpu FAMILY/MODEL/STEPPING: the processor's errata are not allowed for");
  if (timing.cpuid_0x15_eax == 0) {
    streams.remark("no --cpuid-0x15 EAX/EBX: MTC packets tell no time" +
                   std::string(timing.nom_freq == 0 ? ", and without --nom-freq N CYC packets do not either; times "
                                                      "stand still from one TSC packet to the next"
                                                    : ""));
  }
}

Result<> remark_on_raw_stream(const SnapshotFile& file, const WorkerStreams& streams) {
  auto found = has_psb(file);
  if (!found) return found.error();
  if (!*found) {
    streams.remark(
        "no synchronisation point (PSB) is in this file: it is no stream of Intel PT, or a piece that is too "
        "short; nothing of it can be decoded");
  }
  remark_on_placed_images(file.snapshot(), streams);
  remark_on_options(file.snapshot(), streams);
  return {};
}

}  // namespace

Result<> remark_on_import(const SnapshotDirectory& directory, const SnapshotId& id, const WorkerStreams& streams) {
  auto file = directory.open_snapshot(id);
  if (!file) return file.error();
  if (file->snapshot().origin == snapshot::Origin::kRawStream) {
    if (auto remarked = remark_on_raw_stream(*file, streams); !remarked) return remarked;
  }
  remark_on_images(file->snapshot(), streams);
  for (const auto& loss : file->snapshot().losses) {
    streams.remark(cli::printable(loss.name) + ": " + cli::group_digits(loss.count));
  }
  return {};
}

}  // namespace fathom
