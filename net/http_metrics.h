// What an HTTP listener counts: connections, answers, refusals. Internal to net/.
//
// Purpose: every series is there, with 0, from the listener's first moment, so that a rate over it misses no first
// event. Thread safety: all of it. Ownership: the registry of base/metrics.h owns the series.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/metrics.h"

namespace fathom::net {

// Why a connection or a request was turned away.
enum class Refusal : uint8_t {
  kMalformed,
  kHeaderTooLarge,
  kHeaderTimeout,
  kNotAdmitted,  // by the handler, with an error
  kBodyTooLarge,
  kBodyTimeout,
  kCutOff,  // the peer left, or closed its sending side, within a header or a body
  kMemory,
  kAnswerMemory,
  kReaderTooSlow,
  kTooManyConnections,
  kAcceptFailed,
  kNoToken,
  kOtherSite,  // for another host, or by a page of another site
};
inline constexpr size_t kRefusals = static_cast<size_t>(Refusal::kOtherSite) + 1;

class HttpMetrics {
 public:
  explicit HttpMetrics(const std::string& listener);

  void refused(Refusal reason) { refused_[static_cast<size_t>(reason)]->add(); }
  void answered(int status);
  Gauge& open_connections() { return open_connections_; }

 private:
  Counter& answers(int status);

  const std::string label_;
  Gauge& open_connections_;
  std::array<Counter*, kRefusals> refused_;
};

}  // namespace fathom::net
