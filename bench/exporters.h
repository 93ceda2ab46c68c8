// The exporters of a workload: each process of a service sends its spans in the order in which they end, in requests of
// 512 spans unless asked for another number.
//
// Purpose: the order in which a real fleet's spans reach a collector. Traces are laid out in order of their starts; a
// span leaves as soon as no later trace can hold one that ends before it. Thread safety: one thread. Ownership: views
// in a request live until the next call. Source of the idea: a k-way merge by a heap.
#pragma once

#include <cstdint>
#include <queue>
#include <string>
#include <string_view>
#include <vector>

#include "bench/span_encoder.h"
#include "bench/workload.h"

namespace fathom::bench {

inline constexpr uint32_t kSpansPerRequest = 512;

// An ExportTraceServiceRequest: the bytes of `head`, then those of `body`.
struct ExportRequest {
  std::string_view head;
  std::string_view body;
  uint32_t service = 0;
  uint32_t spans = 0;
  uint64_t last_end_unix_nano = 0;
};

class Exporters {
 public:
  // Traces [first, first + count) of the workload.
  Exporters(const Workload& workload, uint64_t first_trace, uint64_t count, const Fleet& fleet = {},
            uint32_t spans_per_request = kSpansPerRequest);
  // The next request in order of the last span's end, or false when all is sent.
  bool next(ExportRequest& request);
  // No trace that was not begun yet will be: what is pending is sent by the calls of next() that follow.
  void stop_beginning() { end_trace_ = next_trace_; }
  uint64_t traces_begun() const { return next_trace_ - first_trace_; }

 private:
  struct Pending {
    SpanTimes times;
    uint64_t trace;
    uint32_t position;
    bool operator>(const Pending& other) const { return times.end_unix_nano > other.times.end_unix_nano; }
  };
  struct Buffer {
    uint32_t service = 0;
    uint32_t process = 0;
    std::string bytes;
    size_t used = 0;
    uint32_t spans = 0;
    uint64_t last_end_unix_nano = 0;
  };

  bool fill();
  void begin_trace();
  void take(const Pending& span);
  bool emit(Buffer& buffer, ExportRequest& request);
  bool emit_partial(ExportRequest& request);

  const Workload& workload_;
  Fleet fleet_;
  uint32_t spans_per_request_;
  SpanEncoder encoder_;
  uint64_t first_trace_;
  uint64_t next_trace_;
  uint64_t end_trace_;
  uint64_t watermark_unix_nano_ = 0;  // no span that is not pending ends before
  std::priority_queue<Pending, std::vector<Pending>, std::greater<>> pending_;
  std::vector<Buffer> buffers_;  // by service and process
  Buffer* full_ = nullptr;
  std::string head_;
};

}  // namespace fathom::bench
