#include "snapshot/record/step/address_space.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace fathom::snapshot::step {
namespace {

constexpr Instruction kUnreadable{};

bool is_code(const MappedFile& map) {
  return map.executable && map.path != "[vsyscall]";  // that one is the kernel's own, and cannot be read
}

std::string memory_name(uint64_t address) {
  char name[40];
  std::snprintf(name, sizeof name, "[memory %lx]", address);
  return name;
}

}  // namespace

AddressSpace::AddressSpace(pid_t pid, Recording& recording) : pid_(pid), recording_(recording) {
  forget();
}

void AddressSpace::forget() {
  memory_ = Fd(::open(("/proc/" + std::to_string(pid_) + "/mem").c_str(), O_RDWR | O_CLOEXEC));
  code_.clear();
  files_.clear();
  pages_.clear();
  page_number_ = UINT64_MAX;
}

size_t AddressSpace::read(uint64_t address, std::span<uint8_t> bytes) const {
  const ssize_t got = ::pread(memory_.get(), bytes.data(), bytes.size(), static_cast<off_t>(address));
  return got > 0 ? static_cast<size_t>(got) : 0;
}

bool AddressSpace::write(uint64_t address, std::span<const uint8_t> bytes) const {
  const ssize_t put = ::pwrite(memory_.get(), bytes.data(), bytes.size(), static_cast<off_t>(address));
  return put == static_cast<ssize_t>(bytes.size());
}

const MappedFile* AddressSpace::map_of(uint64_t address) const {
  const auto behind = std::ranges::upper_bound(code_, address, {}, &MappedFile::begin);
  if (behind == code_.begin()) return nullptr;
  const MappedFile& map = *std::prev(behind);
  return address < map.end ? &map : nullptr;
}

bool AddressSpace::touches_code(uint64_t address, uint64_t length) const {
  return std::ranges::any_of(code_,
                             [&](const MappedFile& map) { return map.begin < address + length && address < map.end; });
}

// ---- maps
// ------------------------------------------------------------------------------------------------------------

void AddressSpace::record_map(const MappedFile& map, uint64_t tsc) {
  Sideband row;
  row.tsc = tsc;
  row.pid = pid_;
  row.address = map.begin;
  row.length = map.end - map.begin;
  if (map.path == "[vdso]") {
    std::string bytes(row.length, '\0');
    bytes.resize(read(map.begin, {reinterpret_cast<uint8_t*>(bytes.data()), bytes.size()}));
    row.image = recording_.add_flat_image(map.path, std::move(bytes));
    files_[map.begin] = -1;
  } else if (map.inode != 0) {
    const auto image = recording_.image_of(pid_, map);
    if (!image) return;
    row.image = image->image;
    row.file_offset = map.file_offset;
    files_[map.begin] = image->file;
  } else {
    return;
  }
  recording_.add(std::move(row));
}

void AddressSpace::record_unmap(const MappedFile& map, uint64_t tsc) {
  files_.erase(map.begin);
  Sideband row;
  row.kind = SidebandKind::kUnmap;
  row.tsc = tsc;
  row.pid = pid_;
  row.address = map.begin;
  row.length = map.end - map.begin;
  recording_.add(std::move(row));
}

void AddressSpace::look_at_maps(uint64_t tsc) {
  std::vector<MappedFile> now = read_maps(pid_);
  std::erase_if(now, [](const MappedFile& map) { return !is_code(map); });
  const std::vector<MappedFile> before = std::exchange(code_, std::move(now));
  for (const MappedFile& map : before) {
    if (std::ranges::find(code_, map) == code_.end()) record_unmap(map, tsc);
  }
  for (const MappedFile& map : code_) {
    if (std::ranges::find(before, map) == before.end()) record_map(map, tsc);
  }
  if (before == code_) return;
  pages_.clear();
  page_number_ = UINT64_MAX;
}

// ---- instructions
// ----------------------------------------------------------------------------------------------------

bool AddressSpace::differs_from_file(uint64_t address, const MappedFile& map) const {
  const auto file = files_.find(map.begin);
  if (file == files_.end()) return true;
  if (file->second < 0) return false;  // the vDSO, which was copied whole
  std::array<uint8_t, kPageBytes> here{};
  std::array<uint8_t, kPageBytes> there{};
  const size_t got = read(address, here);
  const ssize_t stored =
      ::pread(file->second, there.data(), there.size(), static_cast<off_t>(map.file_offset + address - map.begin));
  // What a file's last page has beyond its end is no part of it.
  const size_t both = std::min(got, stored > 0 ? static_cast<size_t>(stored) : 0);
  return both == 0 || !std::equal(here.begin(), here.begin() + static_cast<std::ptrdiff_t>(both), there.begin());
}

void AddressSpace::prepare(Page& page, uint64_t address) {
  const MappedFile* map = map_of(address);
  if (map == nullptr) return;
  page.watched = map->writable || (map->inode != 0 && !files_.contains(map->begin)) || map->path.starts_with("/memfd:");
  page.copied = page.watched || differs_from_file(address, *map);
}

AddressSpace::Page& AddressSpace::page_of(uint64_t ip) {
  const uint64_t number = ip >> kPageBits;
  std::unique_ptr<Page>& page = pages_[number];
  if (page == nullptr) {
    page = std::make_unique<Page>();
    prepare(*page, ip & ~kPageMask);
  }
  page_number_ = number;
  page_ = page.get();
  return *page;
}

// A page of memory alone becomes an image of its own, and again whenever it is not what it was.
void AddressSpace::copy_if_changed(Page& page, uint64_t address) {
  std::string now(kPageBytes, '\0');
  now.resize(read(address, {reinterpret_cast<uint8_t*>(now.data()), now.size()}));
  if (now.empty() || now == page.bytes) return;
  page.bytes = now;
  page.instructions.fill({});
  Sideband row;
  row.tsc = read_tsc();
  row.pid = pid_;
  row.address = address;
  row.length = now.size();
  row.image = recording_.add_flat_image(memory_name(address), std::move(now));
  recording_.add(std::move(row));
  changed_ = true;
}

const Instruction& AddressSpace::fetch(uint64_t ip) {
  Page* page = &page_of(ip);
  const uint64_t address = ip & ~kPageMask;
  if (page->copied && (page->watched || page->bytes.empty())) copy_if_changed(*page, address);
  Instruction& known = page->instructions[ip & kPageMask];
  if (known.length != 0) return known;
  std::array<uint8_t, kMostInstructionBytes> bytes{};
  const size_t got = read(ip, bytes);
  if (got == 0) return kUnreadable;
  known = classify({bytes.data(), got});
  const uint64_t last = ip + std::max<uint64_t>(known.length, 1) - 1;
  if (last >> kPageBits != ip >> kPageBits) {
    Page& next = page_of(last);
    if (next.copied && (next.watched || next.bytes.empty())) copy_if_changed(next, last & ~kPageMask);
    page_of(ip);
  }
  return known;
}

}  // namespace fathom::snapshot::step
