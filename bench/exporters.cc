#include "bench/exporters.h"

namespace fathom::bench {

Exporters::Exporters(const Workload& workload, uint64_t first_trace, uint64_t count)
    : workload_(workload),
      encoder_(workload),
      first_trace_(first_trace),
      next_trace_(first_trace),
      end_trace_(first_trace + count) {
  for (Buffer& buffer : buffers_) buffer.bytes.resize(kSpansPerRequest * kSpanRoom);
}

bool Exporters::next(ExportRequest& request) {
  if (fill()) return emit(full_service_, request);
  return emit_partial(request);
}

// Takes spans until one service's request is full; false when there are no more.
bool Exporters::fill() {
  full_service_ = kServices;
  while (full_service_ == kServices) {
    bool safe = !pending_.empty() && pending_.top().times.end_unix_nano < watermark_unix_nano_;
    if (!safe && next_trace_ < end_trace_) {
      begin_trace();
    } else if (!pending_.empty()) {
      take(pending_.top());
      pending_.pop();
    } else {
      return false;
    }
  }
  return true;
}

void Exporters::begin_trace() {
  TraceFacts facts = workload_.facts(next_trace_++);
  auto times = workload_.times(facts);
  watermark_unix_nano_ = times[workload_.root_position(facts)].start_unix_nano;
  for (uint32_t position = 0; position < kPositions; ++position) {
    if (times[position].start_unix_nano != 0) pending_.push({times[position], facts.index, position});
  }
}

void Exporters::take(const Pending& span) {
  uint32_t service = position_facts(span.position).service;
  Buffer& buffer = buffers_[service];
  char* begin = buffer.bytes.data();
  char* at = encoder_.append(begin + buffer.used, workload_.facts(span.trace), span.position, span.times);
  buffer.used = static_cast<size_t>(at - begin);
  buffer.last_end_unix_nano = span.times.end_unix_nano;
  if (++buffer.spans == kSpansPerRequest) full_service_ = service;
}

bool Exporters::emit(uint32_t service, ExportRequest& request) {
  Buffer& buffer = buffers_[service];
  head_ = encoder_.request_head(service, buffer.used);
  request = {head_, std::string_view(buffer.bytes.data(), buffer.used), service, buffer.spans,
             buffer.last_end_unix_nano};
  buffer.used = 0;
  buffer.spans = 0;
  return true;
}

bool Exporters::emit_partial(ExportRequest& request) {
  for (uint32_t service = 0; service < kServices; ++service) {
    if (buffers_[service].spans != 0) return emit(service, request);
  }
  return false;
}

}  // namespace fathom::bench
