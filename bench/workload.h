// The seeded workloads shop-v1 and single-v1: what every trace of them looks like (bench/workloads.md is exact).
//
// Purpose: any trace is computable from (seed, index) alone, so that the load generator, the brute-force model and the
// checks of single answers agree without keeping anything. Trace starts ascend with the index. Thread safety: a
// Workload is immutable; any number of threads. Ownership: plain values. Units: Unix nanoseconds. Errors: none; asking
// for a position that a trace has not is a fault of ours (asserted).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"

namespace fathom::bench {

inline constexpr uint32_t kPositions = 8;  // spans of a shop-v1 trace
inline constexpr uint32_t kRoutes = 6;     // kinds of request; kRoutes * kPositions operations
inline constexpr uint32_t kServices = 4;
inline constexpr uint32_t kAttributesPerSpan = 10;
inline constexpr uint32_t kProducts = 10'000;
inline constexpr uint32_t kPeers = 256;
inline constexpr uint32_t kAgents = 24;

enum class Shape { kShop, kSingle };
enum class Tier : uint8_t { kFree, kStandard, kPremium, kCanary };
// What became of the request: 97.5 % are served, 2 % find nothing (404), 0.5 % fail in payments (503).
enum class Outcome : uint8_t { kServed, kNotFound, kFailed };
enum class SpanType : uint8_t { kHttpServer, kHttpClient, kDatabase };

// Where a position stands in the tree of a shop-v1 trace.
struct PositionFacts {
  uint32_t service;
  int parent;  // a position; -1 for the root
  SpanType type;
};
const PositionFacts& position_facts(uint32_t position);
std::string_view service_name(uint32_t service);
std::string_view tier_name(Tier tier);
// The span name of one of the 48 operations.
const std::string& operation_name(uint32_t route, uint32_t position);

// Trace `index` starts within [start + index * period, start + (index + 1) * period).
struct Schedule {
  uint64_t start_unix_nano = 0;
  uint64_t trace_period_nano = 1;
};

// Independent uniform 64-bit numbers of one trace, by lane.
class Draws {
 public:
  Draws(uint64_t seed, uint64_t index);
  uint64_t operator()(uint32_t lane) const;

 private:
  uint64_t base_;
};

// A draw scaled to [0, bound).
inline uint64_t scaled(uint64_t draw, uint64_t bound) {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(draw) * bound) >> 64);
}

struct SpanTimes {
  uint64_t start_unix_nano = 0;
  uint64_t end_unix_nano = 0;
  uint64_t duration_nano() const { return end_unix_nano - start_unix_nano; }
};

// What the spans of a trace share; cheap to compute (no floating point).
struct TraceFacts {
  Draws draws;
  uint64_t index;
  uint32_t route;
  Tier tier;
  Outcome outcome;
  uint32_t product;
  uint32_t agent;
  TraceId trace_id() const;
  SpanId span_id(uint32_t position) const;
  uint32_t status_code(uint32_t position) const;  // HTTP's
  std::optional<uint32_t> stalled() const;        // the position that takes much longer than usual
};

// The processes of each service. shop-v1 has one; busy-v1 is shop-v1 in a fleet of some, of which the last is replaced
// by one of the next version: three in four of the traces that stall in a service do so there.
struct Fleet {
  uint32_t replicas = 1;
  uint64_t next_version_from = UINT64_MAX;  // the first trace that finds the next version
  bool has_next() const { return next_version_from != UINT64_MAX; }
  uint32_t processes() const { return replicas + (has_next() ? 1 : 0); }  // the next version's is the last
};
// Which process of `service` serves a trace.
uint32_t process_of(const TraceFacts& facts, uint32_t service, const Fleet& fleet);

class Workload {
 public:
  Workload(Shape shape, uint64_t seed, Schedule schedule) : shape_(shape), seed_(seed), schedule_(schedule) {}

  Shape shape() const { return shape_; }
  const Schedule& schedule() const { return schedule_; }
  uint32_t spans_per_trace() const { return shape_ == Shape::kShop ? kPositions : 1; }
  TraceFacts facts(uint64_t index) const;
  // The only position that a single-v1 trace has; 0, the root's, for shop-v1.
  uint32_t root_position(const TraceFacts& facts) const;
  // The spans' times by position; of a single-v1 trace only root_position() is filled.
  std::array<SpanTimes, kPositions> times(const TraceFacts& facts) const;
  SpanTimes root_times(const TraceFacts& facts) const { return times(facts)[root_position(facts)]; }

 private:
  uint64_t start_of(const TraceFacts& facts) const;

  Shape shape_;
  uint64_t seed_;
  Schedule schedule_;
};

std::string_view workload_name(Shape shape);
// The text of a UUID (version 4) made of two draws; 36 characters into `out`.
inline constexpr size_t kUuidSize = 36;
void write_uuid(uint64_t high, uint64_t low, char* out);
std::string session_of(const TraceFacts& facts);

// Lanes of Draws; positions add themselves to those marked [8]. They are part of the workloads' definition.
namespace lane {
inline constexpr uint32_t kTraceIdHigh = 0;
inline constexpr uint32_t kTraceIdLow = 1;
inline constexpr uint32_t kSessionHigh = 2;
inline constexpr uint32_t kSessionLow = 3;
inline constexpr uint32_t kRoute = 4;
inline constexpr uint32_t kTier = 5;
inline constexpr uint32_t kOutcome = 6;
inline constexpr uint32_t kProduct = 7;
inline constexpr uint32_t kAgent = 8;
inline constexpr uint32_t kStart = 9;
inline constexpr uint32_t kStall = 10;
inline constexpr uint32_t kStallLength = 11;
inline constexpr uint32_t kSinglePosition = 12;
inline constexpr uint32_t kSelfTime = 16;   // [8]
inline constexpr uint32_t kSplit = 24;      // [8]
inline constexpr uint32_t kSpanId = 32;     // [8]
inline constexpr uint32_t kAttribute = 40;  // [8]
inline constexpr uint32_t kProcess = 48;    // [4], of services
}  // namespace lane

}  // namespace fathom::bench
