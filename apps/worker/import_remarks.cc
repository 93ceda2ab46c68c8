#include "apps/worker/import_remarks.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/whole_io.h"
#include "cli/text.h"
#include "snapshot/decode/crystal.h"
#include "snapshot/decode/packet_stream.h"
#include "snapshot/decode/packets.h"
#include "snapshot/decode/psb.h"

namespace fathom {
namespace {

using snapshot::Image;
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
                 (snapshot.images.size() == 1 ? " image is" : " images are") +
                 " missing; what runs in them will be gaps:");
  const std::vector<Missing> all = missing_images(snapshot);
  for (size_t i = 0; i < std::min(all.size(), kMostRemarks); ++i) {
    const std::string more = all[i].count == 1 ? "" : " and " + std::to_string(all[i].count - 1) + " like it";
    streams.remark("  " + cli::printable(all[i].first) + more + ": " + cli::printable(all[i].reason));
    left -= all[i].count;
  }
  if (left > 0) streams.remark("  and " + std::to_string(left) + " more");
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
  const snapshot::Timing known = with_crystal_ratio(timing, snapshot.cpu);
  if (has_crystal_ratio(timing)) return;
  if (has_crystal_ratio(known)) {
    streams.remark("no --cpuid-0x15 EAX/EBX: taken to be " + std::to_string(known.cpuid_0x15_eax) + "/" +
                   std::to_string(known.cpuid_0x15_ebx) + ", by the crystal clock of this model");
  } else {
    streams.remark("no --cpuid-0x15 EAX/EBX: MTC packets tell no time" +
                   std::string(timing.nom_freq == 0 ? ", and without --nom-freq N CYC packets do not either; times "
                                                      "stand still from one TSC packet to the next"
                                                    : ""));
  }
}

// MTC packets come all the time, if at all.
Result<> remark_on_mtc(const SnapshotFile& file, const WorkerStreams& streams) {
  auto counts = snapshot::count_packets(file, kWindowBytes);
  if (!counts) return counts.error();
  if (!counts->kinds.contains("MTC")) return {};
  streams.remark(
      "MTC packets are in this stream, and no --mtc-freq N says how many ticks of the crystal clock lie between them: "
      "times are wrong unless IA32_RTIT_CTL.MTCFreq was 0");
  return {};
}

Result<> remark_on_raw_stream(const SnapshotFile& file, const WorkerOptions& options, const WorkerStreams& streams) {
  remark_on_placed_images(file.snapshot(), streams);
  remark_on_options(file.snapshot(), streams);
  const Snapshot& snapshot = file.snapshot();
  const bool needed = has_crystal_ratio(with_crystal_ratio(snapshot.timing, snapshot.cpu));
  return needed && !options.mtc_freq_given ? remark_on_mtc(file, streams) : Result<>();
}

using ReadAt = std::function<Result<>(uint64_t at, std::span<uint8_t> to)>;

Result<bool> has_psb(uint64_t bytes, const ReadAt& read) {
  std::vector<uint8_t> window;
  for (uint64_t at = 0; at < bytes; at += kWindowBytes) {
    window.resize(std::min(kWindowBytes + snapshot::kPsbBytes, bytes - at));
    if (auto got = read(at, window); !got) return got.error();
    if (snapshot::find_psb(window, 0) < window.size()) return true;
  }
  return false;
}

Error no_psb(const std::string& path, const std::string& why) {
  return invalid("no synchronisation point (PSB) is in the packets of " + cli::printable(path) + ": " + why +
                 "; nothing of it could be decoded");
}

}  // namespace

// The first synchronisation point is mostly near; a file without any is read to its end.
Result<> check_raw_stream(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat about {};
  const bool regular = file.open() && ::fstat(file.get(), &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0;
  if (!regular) return {};  // whoever imports it says what is wrong
  auto found = has_psb(static_cast<uint64_t>(about.st_size), [&](uint64_t at, std::span<uint8_t> to) {
    return read_whole(file.get(), at, to, "cannot read " + path);
  });
  if (!found) return found.error();
  return *found ? Result<>() : no_psb(path, "it is no stream of Intel PT, or a piece that is too short");
}

Result<> check_perf_packets(const SnapshotDirectory& directory, const SnapshotId& id, const std::string& path) {
  auto file = directory.open_snapshot(id);
  if (!file) return file.error();
  for (size_t stream = 0; stream < file->snapshot().streams.size(); ++stream) {
    const snapshot::PacketStream packets(*file, stream);
    for (size_t stretch = 0; stretch < packets.stretches(); ++stretch) {
      auto found = has_psb(packets.bytes(stretch),
                           [&](uint64_t at, std::span<uint8_t> to) { return packets.read(stretch, at, to); });
      if (!found) return found.error();
      if (*found) return {};
    }
  }
  uint64_t lost = 0;
  for (const auto& loss : file->snapshot().losses) lost += loss.is_loss() ? 1 : 0;
  return no_psb(path, lost == 0 ? "they are pieces that are too short" : "it is cut short, or damaged");
}

Result<> remark_on_import(const SnapshotDirectory& directory, const SnapshotId& id, const WorkerOptions& options,
                          const WorkerStreams& streams) {
  auto file = directory.open_snapshot(id);
  if (!file) return file.error();
  if (file->snapshot().origin == snapshot::Origin::kRawStream) {
    if (auto remarked = remark_on_raw_stream(*file, options, streams); !remarked) return remarked;
  }
  remark_on_images(file->snapshot(), streams);
  for (const auto& loss : file->snapshot().losses) {
    streams.remark((loss.is_loss() ? "warning: " : "") + cli::printable(loss.name) + ": " +
                   cli::group_digits(loss.count));
  }
  return {};
}

}  // namespace fathom
