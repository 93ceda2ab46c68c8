#include "snapshot/decode/address_filters.h"

#include <algorithm>
#include <string_view>

#include "snapshot/format/address_filter.h"

namespace fathom::snapshot {
namespace {

// IA32_RTIT_CTL.ADDRn_CFG.
constexpr uint64_t kFilters = 1;
constexpr uint64_t kStopsTrace = 2;
constexpr unsigned kConfigBits = 4;

// The processor's registers, one after the other.
class Registers {
 public:
  void add(const Sideband& row, uint64_t first, uint64_t last) {
    static constexpr uint64_t pt_conf_addr_filter::*kFirst[] = {
        &pt_conf_addr_filter::addr0_a, &pt_conf_addr_filter::addr1_a, &pt_conf_addr_filter::addr2_a,
        &pt_conf_addr_filter::addr3_a};
    static constexpr uint64_t pt_conf_addr_filter::*kLast[] = {
        &pt_conf_addr_filter::addr0_b, &pt_conf_addr_filter::addr1_b, &pt_conf_addr_filter::addr2_b,
        &pt_conf_addr_filter::addr3_b};
    if (used_ == kMostAddressFilters) return;
    const uint64_t config = (row.flags & kFlagStopsTrace) != 0 ? kStopsTrace : kFilters;
    all_.config.addr_cfg |= config << (kConfigBits * used_);
    all_.*kFirst[used_] = first;
    all_.*kLast[used_] = last;
    ++used_;
  }
  const pt_conf_addr_filter& all() const { return all_; }

 private:
  pt_conf_addr_filter all_ = {};
  size_t used_ = 0;
};

std::string_view last_part(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// By its path; or by its name, where that path is another way (a link, a relative one) to the same file.
std::vector<bool> images_of(const Snapshot& snapshot, const std::string& file) {
  std::vector<bool> same;
  for (const Image& image : snapshot.images) same.push_back(image.name == file);
  if (std::ranges::find(same, true) != same.end()) return same;
  same.clear();
  for (const Image& image : snapshot.images) same.push_back(last_part(image.name) == last_part(file));
  return same;
}

}  // namespace

AddressFilters::AddressFilters(const Snapshot& snapshot) {
  for (const Sideband& row : snapshot.sideband) {
    if (row.kind != SidebandKind::kAddressFilter || row.length == 0 || filters_.size() == kMostAddressFilters) continue;
    filters_.push_back({row, row.text.empty() ? std::vector<bool>() : images_of(snapshot, row.text)});
  }
}

// As the kernel does: of a map that shows some of the filter's bytes, those.
bool AddressFilters::in_space(const Filter& filter, std::span<const MappedRange> ranges, Range& found) {
  const Sideband& row = filter.row;
  if (row.text.empty()) {
    found = {row.address, row.address + std::min(row.length - 1, UINT64_MAX - row.address)};
    return true;
  }
  const uint64_t end = row.file_offset + std::min(row.length, UINT64_MAX - row.file_offset);
  for (const MappedRange& range : ranges) {
    if (range.image >= filter.images.size() || !filter.images[range.image]) continue;
    const uint64_t begin_here = std::max(row.file_offset, range.file_offset);
    const uint64_t end_here = std::min(end, range.file_offset + (range.end - range.begin));
    if (begin_here >= end_here) continue;
    found = {range.begin + (begin_here - range.file_offset), range.begin + (end_here - range.file_offset) - 1};
    return true;
  }
  return false;
}

// A filter whose file nobody shows is set beside others, too, and holds no code.
pt_conf_addr_filter AddressFilters::in(std::span<const std::span<const MappedRange>> spaces) const {
  Registers registers;
  std::vector<Range> first(filters_.size());
  bool lets_through = false;
  bool any_lets_through = false;
  for (size_t i = 0; i < filters_.size(); ++i) {
    const bool filters = (filters_[i].row.flags & kFlagStopsTrace) == 0;
    const bool shown =
        std::ranges::any_of(spaces, [&](const auto& space) { return in_space(filters_[i], space, first[i]); });
    any_lets_through = any_lets_through || filters;
    lets_through = lets_through || (filters && shown);
    registers.add(filters_[i].row, first[i].first, first[i].last);
  }
  if (any_lets_through && !lets_through) return {};
  for (const auto& space : spaces) {
    for (size_t i = 0; i < filters_.size(); ++i) {
      Range other;
      if (in_space(filters_[i], space, other) && other != first[i])
        registers.add(filters_[i].row, other.first, other.last);
    }
  }
  return registers.all();
}

}  // namespace fathom::snapshot
