#include "snapshot/import/perf_sample_id.h"

#include <bit>

#include "base/bytes.h"

namespace fathom::snapshot::perf {
namespace {

constexpr uint64_t kFields = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
                             PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;
constexpr size_t kFieldBytes = 8;

SampleId read_fields(std::string_view bytes, uint64_t sample_type) {
  ByteReader in(bytes);
  SampleId id;
  if ((sample_type & PERF_SAMPLE_TID) != 0) {
    id.pid = in.fixed<int32_t>();
    id.tid = in.fixed<int32_t>();
  }
  if ((sample_type & PERF_SAMPLE_TIME) != 0) id.nano = in.u64();
  if ((sample_type & PERF_SAMPLE_ID) != 0) id.event_id = in.u64();
  if ((sample_type & PERF_SAMPLE_STREAM_ID) != 0) in.u64();
  if ((sample_type & PERF_SAMPLE_CPU) != 0) {
    id.cpu = in.fixed<int32_t>();
    in.u32();
  }
  if ((sample_type & PERF_SAMPLE_IDENTIFIER) != 0) id.event_id = in.u64();
  return id;
}

}  // namespace

void SampleIds::add(const EventKind& event) {
  const Layout layout{event.sample_id_all ? event.sample_type & kFields : 0, event.sample_id_all};
  if (!any_) first_ = layout;
  any_ = true;
  all_alike_ = all_alike_ && layout == first_;
  all_identify_ = all_identify_ && layout.present && (layout.sample_type & PERF_SAMPLE_IDENTIFIER) != 0;
  for (uint64_t id : event.ids) {
    if (by_id_.size() < kMostIds) by_id_[id] = layout;
  }
}

const SampleIds::Layout* SampleIds::layout_of(std::string_view payload) const {
  if (!any_) return nullptr;
  if (all_alike_) return &first_;
  if (!all_identify_ || payload.size() < kFieldBytes) return nullptr;
  const uint64_t id = ByteReader(payload.substr(payload.size() - kFieldBytes)).u64();
  // What perf itself put together when it began has fields, all zero.
  if (id == 0) return &first_;
  auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &found->second;
}

SampleId SampleIds::take(std::string_view& payload) {
  const Layout* layout = layout_of(payload);
  const size_t bytes = layout == nullptr ? 0 : kFieldBytes * static_cast<size_t>(std::popcount(layout->sample_type));
  if (layout == nullptr || bytes > payload.size()) {
    ++unknown_;
    return {};
  }
  const SampleId id = read_fields(payload.substr(payload.size() - bytes), layout->sample_type);
  payload.remove_suffix(bytes);
  return id;
}

}  // namespace fathom::snapshot::perf
