// The counters of OTLP ingest, looked up once: docs/otlp.md lists them.
//
// Thread safety: all of it. Ownership: the registry of base/metrics.h owns the series.
#pragma once

#include <array>
#include <cstdint>

#include "base/metrics.h"
#include "collector/answer.h"
#include "collector/otlp/decoded.h"
#include "redact/rule.h"

namespace fathom::collector {

enum class Transport : uint8_t { kGrpc, kHttpProtobuf, kHttpJson, kAgent };
inline constexpr size_t kTransports = 4;

class IngestMetrics {
 public:
  IngestMetrics();

  void answered(Transport transport, Verdict verdict) { requests_[at(transport)][at(verdict)]->add(); }
  void received(Transport transport, uint64_t bytes) { bytes_[at(transport)]->add(bytes); }
  void stored(Transport transport, uint64_t spans) { spans_[at(transport)]->add(spans); }
  void rejected_by_store(uint64_t spans) { rejected_by_store_->add(spans); }
  // A request that gRPC gave up on before all of it was here.
  void cut_off() { cut_off_->add(); }
  // What decoding refused, lost or found odd; of requests that were answered for good, so that a retry does not count
  // twice.
  void account(const Decoded& decoded);
  Gauge* budget_used() { return budget_used_; }

 private:
  template <typename T>
  static size_t at(T value) {
    return static_cast<size_t>(value);
  }

  std::array<std::array<Counter*, kVerdicts>, kTransports> requests_;
  std::array<Counter*, kTransports> bytes_, spans_;
  std::array<Counter*, kRejections> rejections_;
  std::array<Counter*, kLosses> losses_;
  std::array<Counter*, kOddities> oddities_;
  std::array<Counter*, kRedactActions> redacted_;
  Counter* rejected_by_store_;
  Counter* cut_off_;
  Gauge* budget_used_;
};

}  // namespace fathom::collector
