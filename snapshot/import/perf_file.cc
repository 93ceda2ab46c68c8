#include "snapshot/import/perf_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstddef>

#include "base/bytes.h"
#include "base/whole_io.h"

namespace fathom::snapshot::perf {
namespace {

constexpr uint64_t kMostAttrBytes = 4096;        // it has 136 today, and grows
constexpr uint64_t kMostFeatureBytes = 8 << 20;  // the table of build-ids of a large host
constexpr uint64_t kFeaturePlaceBytes = 16;      // of a part of the header: where it begins, and how long it is
constexpr uint64_t kSampleIdAllBit = uint64_t{1} << 18;

uint64_t field_at(std::string_view attr, size_t offset) {
  return offset < attr.size() ? ByteReader(attr.substr(offset)).u64() : 0;
}

// What an attribute of this size has; older ones end earlier.
void parse_fields(std::string_view attr, EventKind& event) {
  event.read_format = field_at(attr, offsetof(perf_event_attr, read_format));
  event.branch_sample_type = field_at(attr, offsetof(perf_event_attr, branch_sample_type));
  event.sample_regs_user = field_at(attr, offsetof(perf_event_attr, sample_regs_user));
  event.sample_regs_intr = field_at(attr, offsetof(perf_event_attr, sample_regs_intr));
}

bool parse_attr(std::string_view bytes, EventKind& event, uint32_t& attr_bytes) {
  ByteReader in(bytes);
  event.type = in.u32();
  attr_bytes = in.u32();
  event.config = in.u64();
  in.u64();  // the period
  event.sample_type = in.u64();
  in.u64();  // the format of reads
  event.sample_id_all = (in.u64() & kSampleIdAllBit) != 0;
  if (attr_bytes == 0) attr_bytes = PERF_ATTR_SIZE_VER0;
  if (in.failed() || attr_bytes < PERF_ATTR_SIZE_VER0 || attr_bytes > kMostAttrBytes) return false;
  parse_fields(bytes.substr(0, attr_bytes), event);
  return true;
}

}  // namespace

bool parse_event(std::string_view bytes, EventKind& event) {
  uint32_t attr_bytes = 0;
  if (!parse_attr(bytes, event, attr_bytes) || attr_bytes > bytes.size()) return false;
  for (ByteReader ids(bytes.substr(attr_bytes)); ids.remaining() >= 8;) event.ids.push_back(ids.u64());
  return true;
}

Result<PerfFile> PerfFile::open(const Fd& file, const std::string& name) {
  struct stat about {};
  if (::fstat(file.get(), &about) != 0) return system_error("cannot look at " + name);
  if (S_ISDIR(about.st_mode)) return invalid(name + " is a directory, and none that perf record wrote");
  if (!S_ISREG(about.st_mode)) return invalid(name + " is no regular file; save what perf writes to one first");
  PerfFile opened(file, name, static_cast<uint64_t>(about.st_size));
  if (auto header = opened.read_header(); !header) return header.error();
  return opened;
}

Result<std::string> PerfFile::bytes(uint64_t at, uint64_t count) const {
  if (at > size_ || count > size_ - at) return corrupt(name_ + " is cut short: its header points behind its end");
  std::string content(count, '\0');
  auto got =
      read_whole(file_.get(), at, {reinterpret_cast<uint8_t*>(content.data()), content.size()}, "cannot read " + name_);
  if (!got) return got.error();
  return content;
}

Result<> PerfFile::read_header() {
  const Error no_perf =
      invalid(name_ +
              " is no perf.data; `perf record -e intel_pt// -- COMMAND` writes one, and a raw stream of packets is "
              "imported by --pt FILE");
  if (size_ < kPipeHeaderBytes) return no_perf;
  auto begin = bytes(0, kPipeHeaderBytes);
  if (!begin) return begin.error();
  ByteReader in(*begin);
  const std::string_view magic = in.raw(kMagic.size());
  if (magic == kMagicOtherOrder) {
    return Error{ErrorCode::kUnsupported,
                 name_ + " was written by a machine of the other byte order, which has no Intel PT"};
  }
  if (magic == kMagicOld) return Error{ErrorCode::kUnsupported, name_ + " is of a format older than Intel PT"};
  if (magic != kMagic) return no_perf;
  pipe_ = in.u64() == kPipeHeaderBytes;
  if (!pipe_) return read_file_header();
  records_ = {kPipeHeaderBytes, size_ - kPipeHeaderBytes};
  return {};
}

Result<> PerfFile::read_file_header() {
  auto header = bytes(0, kFileHeaderBytes);
  if (!header) return corrupt(name_ + " is cut short: it ends within its header");
  ByteReader in(*header);
  in.raw(16);
  const uint64_t entry_bytes = in.u64();
  const Section events{in.u64(), in.u64()};
  records_ = {in.u64(), in.u64()};
  in.raw(16);  // types of events, of perf's first years
  if (records_.offset < kFileHeaderBytes || records_.offset > size_)
    return corrupt(name_ + ": its header points outside of it");
  // perf fills this in at its end.
  ended_properly_ = records_.bytes != 0;
  const uint64_t there = size_ - records_.offset;
  if (!ended_properly_) records_.bytes = there;
  bytes_missing_ = records_.bytes - std::min(records_.bytes, there);
  records_.bytes -= bytes_missing_;
  if (ended_properly_) read_features(in.raw(kFeatures / 8));
  return read_events(events, entry_bytes);
}

Result<> PerfFile::read_events(Section section, uint64_t entry_bytes) {
  constexpr uint64_t kPlaceOfIds = 16;
  if (entry_bytes < PERF_ATTR_SIZE_VER0 + kPlaceOfIds || entry_bytes > kMostAttrBytes ||
      section.bytes / entry_bytes > kMostEvents) {
    return corrupt(name_ + ": its table of events is damaged");
  }
  auto table = bytes(section.offset, section.bytes);
  if (!table) return table.error();
  uint64_t all_ids = 0;
  for (std::string_view left = *table; left.size() >= entry_bytes; left.remove_prefix(entry_bytes)) {
    EventKind event;
    uint32_t attr_bytes = 0;
    if (!parse_attr(left.substr(0, entry_bytes - kPlaceOfIds), event, attr_bytes))
      return corrupt(name_ + ": its table of events is damaged");
    ByteReader place(left.substr(entry_bytes - kPlaceOfIds));
    const Section ids_at{place.u64(), place.u64()};
    all_ids += ids_at.bytes / 8;
    if (all_ids > kMostIds) return corrupt(name_ + ": its table of events is damaged");
    auto ids = bytes(ids_at.offset, ids_at.bytes);
    if (!ids) return ids.error();
    for (ByteReader id(*ids); id.remaining() >= 8;) event.ids.push_back(id.u64());
    events_.push_back(std::move(event));
  }
  return {};
}

// Their places are one behind the other, where the records end.
void PerfFile::read_features(std::string_view bits) {
  uint64_t at = records_.offset + records_.bytes;
  for (uint32_t feature = 0; feature < kFeatures; ++feature) {
    if ((static_cast<unsigned char>(bits[feature / 8]) >> (feature % 8) & 1) == 0) continue;
    read_feature_place(feature, at);
    at += kFeaturePlaceBytes;
  }
}

void PerfFile::read_feature_place(uint32_t feature, uint64_t at) {
  auto place = bytes_missing_ == 0 ? bytes(at, kFeaturePlaceBytes) : Result<std::string>(corrupt("cut short"));
  if (!place) {
    ++features_missing_;
    return;
  }
  ByteReader in(*place);
  const Section section{in.u64(), in.u64()};
  const bool there = section.offset <= size_ && section.bytes <= size_ - section.offset;
  there ? features_.push_back({feature, section}) : void(++features_missing_);
}

std::string PerfFile::feature(Feature wanted) const {
  for (const auto& [feature, section] : features_) {
    if (feature != wanted || section.bytes > kMostFeatureBytes) continue;
    auto content = bytes(section.offset, section.bytes);
    if (content) return std::move(*content);
  }
  return {};
}

}  // namespace fathom::snapshot::perf
