#include "query/snapshots/summary.h"

#include <algorithm>
#include <set>

#include "snapshot/format/held_locks.h"

namespace fathom::query {

namespace {

using snapshot::Snapshot;

constexpr size_t kKeptCommandBytes = 1024;
constexpr uint64_t kReferenceBytes = 2 * sizeof(Sha256);  // here, and among the images that are named

Error too_many(const std::string& what, size_t count, size_t most) {
  return exhausted("this snapshot has " + std::to_string(count) + " " + what + "; the server keeps those that have " +
                   std::to_string(most) + " at most");
}

Result<> check_counts(const Snapshot& snapshot) {
  if (snapshot.images.size() > kMostSnapshotImages) {
    return too_many("images", snapshot.images.size(), kMostSnapshotImages);
  }
  if (snapshot.streams.size() > kMostSnapshotStreams) {
    return too_many("streams", snapshot.streams.size(), kMostSnapshotStreams);
  }
  if (snapshot.losses.size() > kMostSnapshotLosses) {
    return too_many("kinds of losses", snapshot.losses.size(), kMostSnapshotLosses);
  }
  return {};
}

Result<> check_texts(const Snapshot& snapshot) {
  size_t shown = std::max(snapshot.host.size(), snapshot.trigger.reason.size());
  for (const auto& loss : snapshot.losses) shown = std::max(shown, loss.name.size());
  if (shown > kMostShownTextBytes) return too_many("bytes in a host, a reason or a loss", shown, kMostShownTextBytes);
  size_t longest = 0;
  for (const auto& image : snapshot.images) {
    longest = std::max({longest, image.name.size(), image.build_id.size(), image.missing.size()});
  }
  if (longest > kMostImageTextBytes) return too_many("bytes in the name of an image", longest, kMostImageTextBytes);
  return {};
}

std::vector<Sha256> contents_of(const Snapshot& snapshot) {
  std::vector<Sha256> contents;
  for (const auto& image : snapshot.images) {
    if (!image.content.is_zero()) contents.push_back(image.content);
  }
  std::ranges::sort(contents);
  const auto repeated = std::ranges::unique(contents);
  contents.erase(repeated.begin(), repeated.end());
  return contents;
}

void add_lock(SnapshotSummary& summary, const Snapshot& snapshot) {
  const snapshot::ThreadRows rows(snapshot);
  const snapshot::Sideband* wait = snapshot::foremost_wait(rows);
  if (wait == nullptr) return;
  summary.lock_holder = wait->other_tid;
  summary.blocking_thread = snapshot::end_of_chain(snapshot::holder_chain(rows, *wait), wait->other_tid);
}

void add_window(std::vector<SteppedWindow>& windows, const SteppedWindow& window) {
  if (windows.size() < kMostSteppedWindows) {
    windows.push_back(window);
    return;
  }
  auto same = std::ranges::find(windows.rbegin(), windows.rend(), window.pid, &SteppedWindow::pid);
  if (same == windows.rend()) return;
  same->begin_unix_nano = std::min(same->begin_unix_nano, window.begin_unix_nano);
  same->end_unix_nano = std::max(same->end_unix_nano, window.end_unix_nano);
}

std::vector<SteppedWindow> stepped_windows_of(const Snapshot& snapshot) {
  std::vector<SteppedWindow> windows;
  for (const snapshot::Sideband& row : snapshot.sideband) {
    if (row.kind != snapshot::SidebandKind::kStepped) continue;
    add_window(windows, {row.pid, row.address, row.address + std::min(row.length, UINT64_MAX - row.address)});
  }
  return windows;
}

// Empty: of no program.
std::string program_of(const snapshot::Image& image) {
  std::string name = image.name.substr(image.name.rfind('/') + 1);
  if (const size_t gone = name.find(" (deleted)"); gone != std::string::npos) name.resize(gone);
  const bool is_library = name.find(".so") != std::string::npos;
  return image.kind == snapshot::ImageKind::kElf && !is_library && !name.starts_with('[') ? name : "";
}

// Nothing where that would not be all.
std::vector<std::string> kept_programs(const std::set<std::string>& names) {
  const auto is_long = [](const std::string& name) { return name.size() > kMostProgramBytes; };
  if (names.size() > kMostPrograms || std::ranges::any_of(names, is_long)) return {};
  return {names.begin(), names.end()};
}

std::map<int32_t, std::vector<std::string>> programs_of(const Snapshot& snapshot,
                                                        const std::vector<SteppedWindow>& windows) {
  std::map<int32_t, std::set<std::string>> names;
  for (const SteppedWindow& window : windows) names[window.pid];
  for (const snapshot::Sideband& row : snapshot.sideband) {
    if (row.kind != snapshot::SidebandKind::kMap || row.image >= snapshot.images.size()) continue;
    auto process = names.find(row.pid);
    if (process == names.end() || process->second.size() > kMostPrograms) continue;
    if (std::string name = program_of(snapshot.images[row.image]); !name.empty()) process->second.insert(name);
  }
  std::map<int32_t, std::vector<std::string>> programs;
  for (const auto& [pid, of_it] : names) {
    if (auto kept = kept_programs(of_it); !kept.empty()) programs.emplace(pid, std::move(kept));
  }
  return programs;
}

uint64_t bytes_of(const std::map<int32_t, std::vector<std::string>>& programs) {
  uint64_t bytes = 0;
  for (const auto& [pid, names] : programs) {
    bytes += sizeof pid + sizeof(std::vector<std::string>) + names.size() * sizeof(std::string);
    for (const std::string& name : names) bytes += name.size();
  }
  return bytes;
}

}  // namespace

uint64_t SnapshotSummary::memory_bytes() const {
  uint64_t bytes = sizeof *this + host.size() + command.size() + trigger.reason.size();
  for (const auto& loss : losses) bytes += sizeof loss + loss.name.size();
  return bytes + contents.size() * kReferenceBytes + stepped.size() * sizeof(SteppedWindow) + bytes_of(programs);
}

Result<SnapshotSummary> summarize(const StoredSnapshot& stored, const Snapshot& snapshot) {
  if (auto few = check_counts(snapshot); !few) return few.error();
  if (auto short_enough = check_texts(snapshot); !short_enough) return short_enough.error();
  SnapshotSummary summary{.id = stored.id,
                          .bytes = stored.bytes,
                          .received_unix_nano = stored.received_unix_nano,
                          .received_stamp_nano = stored.received_stamp_nano};
  summary.engine = snapshot.engine;
  summary.origin = snapshot.origin;
  summary.taken_unix_nano = static_cast<uint64_t>(std::max<int64_t>(snapshot.taken_unix_nano, 0));
  summary.slowdown = snapshot.slowdown;
  summary.host = snapshot.host;
  summary.command = snapshot.command.substr(0, kKeptCommandBytes);
  summary.trigger = snapshot.trigger;
  add_lock(summary, snapshot);
  summary.streams = snapshot.streams.size();
  for (const auto& stream : snapshot.streams) summary.packet_bytes += stream.packet_bytes();
  summary.images = snapshot.images.size();
  summary.unreadable_images = static_cast<size_t>(
      std::ranges::count_if(snapshot.images, [](const auto& image) { return image.content.is_zero(); }));
  summary.losses = snapshot.losses;
  summary.contents = contents_of(snapshot);
  summary.stepped = stepped_windows_of(snapshot);
  summary.programs = programs_of(snapshot, summary.stepped);
  return summary;
}

}  // namespace fathom::query
