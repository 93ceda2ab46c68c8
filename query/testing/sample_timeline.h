// SampleTimeline: a slow request whose process was captured, in a real store: for tests of timelines and captures.
//
// Content: trace sample_trace_id(1): a root "POST /checkout" of service checkout (pid 4711 on shop-1, 812 ms from
// kSampleStart) with a child "reserve", both on thread 4712 "worker-2", and a span of service stock, which is not
// captured. The worker waits 780 ms in futex() and is woken by thread 4719 "flush-7", has a page fault, and a read()
// that fails; flush-7 writes an event of another request. Ids of captures are sample_capture_id(n): 1 is whole, 2 does
// not decode. Thread safety: as the store's. Ownership: owns store and directory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/testing/temp_directory.h"
#include "capture/capture.h"
#include "query/stores.h"
#include "query/testing/sample_store.h"
#include "store/rocks/rocks_store.h"

namespace fathom::query::testing {

store::CaptureId sample_capture_id(uint64_t n);
store::CaptureInfo sample_capture_info(uint64_t n);
// Of capture 1. Its monotonic clock began 1,000 s before kSampleStart.
capture::Capture sample_capture();
uint64_t sample_monotonic(uint64_t after_start_micro);

class SampleTimeline {
 public:
  SampleTimeline();

  Stores stores() { return {*store_, &store_->captures()}; }
  // `more`: resource attributes besides service and process.
  void add_span(const store::SpanView& span, const std::string& service, int64_t pid,
                const std::vector<store::AttributeView>& more = {});
  void add_capture(const store::CaptureInfo& info, const std::string& content);

 private:
  TempDirectory directory_;
  std::unique_ptr<store::RocksStore> store_;
};

}  // namespace fathom::query::testing
