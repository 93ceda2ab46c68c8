#include "snapshot/import/perf_aux_samples.h"

#include <algorithm>
#include <bit>

#include "base/bytes.h"

namespace fathom::snapshot::perf {
namespace {

constexpr uint64_t kWordBytes = 8;
constexpr uint64_t kBranchEntryBytes = 24;
// Where <linux/perf_event.h> of one version lacks it.
constexpr uint64_t kBranchCounters = uint64_t{1} << 19;
constexpr uint64_t kKnownFields = (uint64_t{1} << 25) - 1;

// Walks over the fields that nobody wants.
class Fields {
 public:
  explicit Fields(std::string_view payload) : in_(payload) {}

  ByteReader& in() { return in_; }
  void skip(uint64_t bytes) { in_.raw(static_cast<size_t>(std::min<uint64_t>(bytes, SIZE_MAX))); }
  // `count` is hostile.
  void skip_many(uint64_t count, uint64_t bytes_each) {
    if (count > in_.remaining() / bytes_each) in_.fail();
    skip(count * bytes_each);
  }

 private:
  ByteReader in_;
};

uint64_t words_of(uint64_t bits, uint64_t mask) {
  return static_cast<uint64_t>(std::popcount(bits & mask));
}

void skip_read(Fields& fields, uint64_t format) {
  const uint64_t times = words_of(format, PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING);
  const uint64_t value_words = 1 + words_of(format, PERF_FORMAT_ID | PERF_FORMAT_LOST);
  const uint64_t values = (format & PERF_FORMAT_GROUP) != 0 ? fields.in().u64() : 1;
  fields.skip(times * kWordBytes);
  fields.skip_many(values, value_words * kWordBytes);
}

void skip_branches(Fields& fields, uint64_t branch_sample_type) {
  const uint64_t count = fields.in().u64();
  if ((branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX) != 0) fields.skip(kWordBytes);
  fields.skip_many(count, kBranchEntryBytes);
  if ((branch_sample_type & kBranchCounters) != 0) fields.skip_many(count, kWordBytes);
}

void skip_registers(Fields& fields, uint64_t mask) {
  if (fields.in().u64() != 0) fields.skip(kWordBytes * words_of(mask, UINT64_MAX));
}

void skip_stack(Fields& fields) {
  const uint64_t bytes = fields.in().u64();
  if (bytes == 0) return;
  fields.skip(bytes);
  fields.skip(kWordBytes);  // how much of it the kernel filled
}

}  // namespace

void AuxSamples::add(const EventKind& event) {
  const Layout layout{event.sample_type, event.read_format, event.branch_sample_type, event.sample_regs_user,
                      event.sample_regs_intr};
  if (!any_) first_ = layout;
  any_ = true;
  any_aux_ = any_aux_ || (layout.sample_type & PERF_SAMPLE_AUX) != 0;
  all_alike_ = all_alike_ && layout == first_;
  all_identify_ = all_identify_ && (layout.sample_type & PERF_SAMPLE_IDENTIFIER) != 0;
  for (uint64_t id : event.ids) {
    if (by_id_.size() < kMostIds) by_id_[id] = layout;
  }
}

const AuxSamples::Layout* AuxSamples::layout_of(std::string_view payload) const {
  if (all_alike_) return &first_;
  if (!all_identify_ || payload.size() < kWordBytes) return nullptr;
  auto found = by_id_.find(ByteReader(payload).u64());
  return found == by_id_.end() ? nullptr : &found->second;
}

AuxSamples::Kind AuxSamples::take(std::string_view payload, AuxSample& sample) const {
  if (!any_aux_) return Kind::kOther;
  const Layout* layout = layout_of(payload);
  if (layout == nullptr) return Kind::kDamaged;
  if ((layout->sample_type & PERF_SAMPLE_AUX) == 0) return Kind::kOther;
  return read(*layout, payload, sample) ? Kind::kAux : Kind::kDamaged;
}

bool AuxSamples::read(const Layout& layout, std::string_view payload, AuxSample& sample) {
  const uint64_t type = layout.sample_type;
  if ((type & ~kKnownFields) != 0) return false;
  Fields fields(payload);
  ByteReader& in = fields.in();
  auto skip_words = [&](uint64_t mask) { fields.skip(kWordBytes * words_of(type, mask)); };
  skip_words(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP);
  if ((type & PERF_SAMPLE_TID) != 0) {
    in.u32();
    sample.tid = in.fixed<int32_t>();
  }
  skip_words(PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID);
  if ((type & PERF_SAMPLE_CPU) != 0) {
    sample.cpu = in.fixed<int32_t>();
    in.u32();
  }
  skip_words(PERF_SAMPLE_PERIOD);
  if ((type & PERF_SAMPLE_READ) != 0) skip_read(fields, layout.read_format);
  if ((type & PERF_SAMPLE_CALLCHAIN) != 0) fields.skip_many(in.u64(), kWordBytes);
  if ((type & PERF_SAMPLE_RAW) != 0) fields.skip(in.u32());
  if ((type & PERF_SAMPLE_BRANCH_STACK) != 0) skip_branches(fields, layout.branch_sample_type);
  if ((type & PERF_SAMPLE_REGS_USER) != 0) skip_registers(fields, layout.sample_regs_user);
  if ((type & PERF_SAMPLE_STACK_USER) != 0) skip_stack(fields);
  skip_words(PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TRANSACTION);
  if ((type & PERF_SAMPLE_REGS_INTR) != 0) skip_registers(fields, layout.sample_regs_intr);
  skip_words(PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_CGROUP | PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE);
  const uint64_t bytes = in.u64();
  if (in.failed() || bytes > in.remaining()) return false;
  sample.packets = in.raw(bytes);
  return true;
}

}  // namespace fathom::snapshot::perf
