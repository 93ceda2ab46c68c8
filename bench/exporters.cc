#include "bench/exporters.h"

namespace fathom::bench {

Exporters::Exporters(const Workload& workload, uint64_t first_trace, uint64_t count, const Fleet& fleet,
                     uint32_t spans_per_request)
    : workload_(workload),
      fleet_(fleet),
      spans_per_request_(spans_per_request),
      encoder_(workload, fleet),
      first_trace_(first_trace),
      next_trace_(first_trace),
      end_trace_(first_trace + count) {
  for (uint32_t service = 0; service < kServices; ++service) {
    for (uint32_t process = 0; process < fleet.processes(); ++process)
      buffers_.push_back({service, process, std::string(spans_per_request * kSpanRoom, '\0')});
  }
}

bool Exporters::next(ExportRequest& request) {
  if (fill()) return emit(*full_, request);
  return emit_partial(request);
}

// Takes spans until one process's request is full; false when there are no more.
bool Exporters::fill() {
  full_ = nullptr;
  while (full_ == nullptr) {
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
  const uint32_t service = position_facts(span.position).service;
  const TraceFacts facts = workload_.facts(span.trace);
  Buffer& buffer = buffers_[service * fleet_.processes() + process_of(facts, service, fleet_)];
  char* begin = buffer.bytes.data();
  char* at = encoder_.append(begin + buffer.used, facts, span.position, span.times);
  buffer.used = static_cast<size_t>(at - begin);
  buffer.last_end_unix_nano = span.times.end_unix_nano;
  if (++buffer.spans == spans_per_request_) full_ = &buffer;
}

bool Exporters::emit(Buffer& buffer, ExportRequest& request) {
  head_ = encoder_.request_head(buffer.service, buffer.used, buffer.process);
  request = {head_, std::string_view(buffer.bytes.data(), buffer.used), buffer.service, buffer.spans,
             buffer.last_end_unix_nano};
  buffer.used = 0;
  buffer.spans = 0;
  return true;
}

bool Exporters::emit_partial(ExportRequest& request) {
  for (Buffer& buffer : buffers_) {
    if (buffer.spans != 0) return emit(buffer, request);
  }
  return false;
}

}  // namespace fathom::bench
