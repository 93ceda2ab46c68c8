// What a store shows of many spans at once: their times, a sample of them, and who called whom.
//
// Purpose: pictures and comparisons need many spans and little of each. What cannot be looked at within a bound is
// sampled, evenly, by hash (the same question finds the same spans), and the answer says what was looked at. Equal rows
// that came in batches of different composition may be shown more than once. Thread safety: plain values. Ownership:
// what a visitor is shown is valid until it returns; it must not ask the store anything meanwhile. Units: in names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "store/histogram.h"
#include "store/span.h"

namespace fathom::store {

// One entry per span.
struct TimesView {
  std::span<const uint64_t> start_unix_nano;  // corrected
  std::span<const uint64_t> duration_nano;
  std::span<const uint8_t> error;  // 1: the status is an error
};
using VisitTimes = std::function<void(const TimesView&)>;
using VisitSpan = std::function<void(const StoredSpan&)>;

struct SampleLimits {
  uint64_t shown = 2000;         // spans that are shown
  uint64_t scanned = 1'000'000;  // spans whose times are looked at; beyond them the count is an estimate
  uint64_t counted = 1'000'000;  // the same once no more are shown: what is looked at only to be counted
  uint32_t blocks = 128;         // blocks whose attributes are decoded
};

struct SampleCount {
  uint64_t spans = 0;  // that match
  uint64_t shown = 0;
  bool estimated = false;  // `spans` is scaled up from a part
};

struct ServiceKey {
  std::string service_namespace;
  std::string service;
  auto operator<=>(const ServiceKey&) const = default;
};

// Spans of `callee` whose parent is a span of another service, `caller`; and failed client spans of `caller` that have
// no child of another service, where the services that have spans tell whom they called: their `peer.service` names
// one, or else all calls by their operation that were looked at reached one.
struct CallEdge {
  ServiceKey caller;
  ServiceKey callee;
  uint64_t calls = 0;
  uint64_t errors = 0;  // calls of which either side's span says so: the callee's, or the client's that called
  Histogram durations;  // of the callee's spans; of the caller's where there is none
};

struct CallSample {
  std::vector<CallEdge> edges;   // by caller, then callee; counts are of what was looked at
  uint64_t failed_unplaced = 0;  // failed client spans likewise, of which nothing tells whom they called
  uint64_t spans_looked_at = 0;
  uint64_t spans = 0;  // in the range; an estimate where not all were looked at
  uint64_t traces_looked_at = 0;
  uint64_t traces = 0;  // with spans in the range; likewise
};

}  // namespace fathom::store
