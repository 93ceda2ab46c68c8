#include "snapshot/decode/code_patches.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <set>

namespace fathom::snapshot {
namespace {

bool usable(const Sideband& row) {
  const uint64_t size = std::max(row.text.size(), row.other_text.size());
  return row.kind == SidebandKind::kTextPoke && size > 0 && row.address + size > row.address;
}

// Row and side in one number that is not 0.
uint32_t patch_number(size_t row, bool old) {
  return static_cast<uint32_t>(row * 2 + (old ? 1 : 0)) + 1;
}

size_t row_of(const MappedRange& range) {
  return (range.patch - 1) / 2;
}

bool is_old(const MappedRange& range) {
  return (range.patch - 1) % 2 != 0;
}

constexpr size_t kMostFileBytes = 16u << 20;

}  // namespace

CodePatches::CodePatches(const Snapshot& snapshot) {
  const auto& sideband = snapshot.sideband;
  std::set<uint64_t> times;
  size_t count = 0;
  for (first_row_ = std::min<size_t>(sideband.size(), INT32_MAX); first_row_ > 0 && count < kMostPatches;) {
    const Sideband& row = sideband[--first_row_];
    if (!usable(row)) continue;
    ++count;
    rows_[row.address].insert(rows_[row.address].begin(), first_row_);
    if (times.size() < kMostTimes) times.insert(row.tsc);
  }
  if (!times.empty()) first_time_ = *times.begin();
}

bool CodePatches::applies(size_t row) const {
  return row >= first_row_ && !rows_.empty();
}

CodePatches::Patch CodePatches::after(const Snapshot& snapshot, size_t row) {
  const Sideband& poke = snapshot.sideband[row];
  if (!usable(poke) || row >= INT32_MAX) return {};
  return {poke.address, poke.address + poke.text.size(), patch_number(row, false)};
}

std::vector<CodePatches::Patch> CodePatches::before(const Snapshot& snapshot, size_t row, uint64_t begin,
                                                    uint64_t end) const {
  std::vector<Patch> all;
  for (auto at = rows_.lower_bound(begin); at != rows_.end() && at->first < end; ++at) {
    const auto next = std::ranges::upper_bound(at->second, row);
    if (next == at->second.end()) continue;
    const Sideband& poke = snapshot.sideband[*next];
    if (poke.other_text.empty()) continue;
    all.push_back({at->first, std::min(end, at->first + poke.other_text.size()), patch_number(*next, true)});
  }
  return all;
}

std::string_view patch_bytes(const Snapshot& snapshot, const MappedRange& range) {
  if (range.patch == 0 || row_of(range) >= snapshot.sideband.size()) return {};
  const Sideband& poke = snapshot.sideband[row_of(range)];
  const std::string_view bytes = is_old(range) ? poke.other_text : poke.text;
  const uint64_t skipped = range.begin - poke.address;
  return skipped < bytes.size() ? bytes.substr(skipped, range.end - range.begin) : std::string_view();
}

PatchFile::PatchFile(const Snapshot& snapshot) : snapshot_(snapshot) {
  std::string bytes;
  for (size_t row = 0; row < snapshot.sideband.size() && bytes.size() < kMostFileBytes; ++row) {
    const Sideband& poke = snapshot.sideband[row];
    if (!usable(poke)) continue;
    offsets_.resize(row + 1);
    offsets_[row] = bytes.size();
    bytes += poke.text + poke.other_text;
  }
  if (bytes.empty()) return;
  file_ = Fd(::memfd_create("patches", MFD_CLOEXEC));
  path_ = "/proc/self/fd/" + std::to_string(file_.get());
  const auto written = ::write(file_.get(), bytes.data(), bytes.size());
  if (written != static_cast<ssize_t>(bytes.size())) offsets_.clear();
}

std::optional<uint64_t> PatchFile::offset(const MappedRange& range) const {
  if (range.patch == 0 || row_of(range) >= offsets_.size()) return std::nullopt;
  const Sideband& poke = snapshot_.sideband[row_of(range)];
  return offsets_[row_of(range)] + (is_old(range) ? poke.text.size() : 0) + (range.begin - poke.address);
}

}  // namespace fathom::snapshot
