#include "bench/workload.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>

namespace fathom::bench {

namespace {

constexpr uint64_t kGolden = 0x9e3779b97f4a7c15ULL;
constexpr uint64_t kLaneStep = 0xd1342543de82ef95ULL;

uint64_t finalize(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

// Uniform in [0, bound) by multiplication of the upper half: exact enough and without division.
uint32_t below(uint64_t draw, uint32_t bound) {
  return static_cast<uint32_t>(((draw >> 32) * bound) >> 32);
}

constexpr std::array<PositionFacts, kPositions> kPositionFacts = {{
    {0, -1, SpanType::kHttpServer},
    {0, 0, SpanType::kHttpClient},
    {1, 1, SpanType::kHttpServer},
    {1, 2, SpanType::kDatabase},
    {0, 0, SpanType::kHttpClient},
    {2, 4, SpanType::kHttpServer},
    {2, 5, SpanType::kHttpClient},
    {3, 6, SpanType::kHttpServer},
}};

constexpr std::array<std::string_view, kServices> kServiceNames = {"gateway", "catalog", "orders", "payments"};
constexpr std::array<std::string_view, 4> kTierNames = {"free", "standard", "premium", "canary"};
static_assert(kTierNames.size() == static_cast<size_t>(Tier::kCanary) + 1);

constexpr std::array<std::string_view, kRoutes> kNouns = {"products", "search",          "carts",
                                                          "checkout", "recommendations", "returns"};
constexpr std::array<std::string_view, kRoutes> kMethods = {"GET", "GET", "PUT", "POST", "GET", "DELETE"};
constexpr std::array<std::string_view, kPositions> kPathBefore = {"/shop/",   "/catalog/", "/catalog/",  "",
                                                                  "/orders/", "/orders/",  "/payments/", "/payments/"};

std::string make_operation(uint32_t route, uint32_t position) {
  std::string noun(kNouns[route]);
  if (position_facts(position).type == SpanType::kDatabase) return "SELECT catalog." + noun;
  return std::string(kMethods[route]) + " " + std::string(kPathBefore[position]) + noun + "/{id}";
}

std::array<std::array<std::string, kPositions>, kRoutes> make_operations() {
  std::array<std::array<std::string, kPositions>, kRoutes> names;
  for (uint32_t route = 0; route < kRoutes; ++route) {
    for (uint32_t position = 0; position < kPositions; ++position)
      names[route][position] = make_operation(route, position);
  }
  return names;
}

// Cumulative shares of the routes, in 1/256: 38, 24, 16, 11, 8 and 3 %.
constexpr std::array<uint32_t, kRoutes> kRouteShare256 = {97, 159, 200, 228, 248, 256};

uint32_t drawn_route(uint64_t draw) {
  uint32_t at = below(draw, 256);
  uint32_t route = 0;
  while (at >= kRouteShare256[route]) ++route;
  return route;
}

// One in 1000 is canary; of the others 60 % free, 30 % standard, 10 % premium.
Tier tier_of(uint64_t draw) {
  uint32_t at = below(draw, 1000);
  if (at == 0) return Tier::kCanary;
  if (at <= 600) return Tier::kFree;
  return at <= 900 ? Tier::kStandard : Tier::kPremium;
}

Outcome outcome_of(uint64_t draw) {
  uint32_t at = below(draw, 1000);
  if (at < 5) return Outcome::kFailed;
  return at < 25 ? Outcome::kNotFound : Outcome::kServed;
}

// Medians of what each position spends itself, in nanoseconds, and how the routes scale them.
constexpr std::array<double, kPositions> kSelfMedianNano = {1.8e6, 2.6e5, 1.1e6, 2.9e6, 2.6e5, 1.6e6, 3.4e5, 4.2e6};
constexpr std::array<double, kRoutes> kRouteScale = {1.0, 2.2, 0.8, 3.5, 1.6, 1.2};
constexpr double kSigma = 0.8;
constexpr uint32_t kStallOneIn = 128;  // traces with a stall: one position's own time times a Pareto number
constexpr double kStallScale = 4;
constexpr double kLongestSelfNano = 120e9;
constexpr std::array<uint32_t, 4> kStallPositions = {2, 3, 5, 7};

double unit(uint32_t bits) {
  return (bits + 0.5) * 0x1p-32;
}

// A standard normal number from the two halves of a draw (Box and Muller).
double normal(uint64_t draw) {
  double radius = std::sqrt(-2 * std::log(unit(static_cast<uint32_t>(draw >> 32))));
  return radius * std::cos(2 * std::numbers::pi * unit(static_cast<uint32_t>(draw)));
}

double self_time(const TraceFacts& facts, uint32_t position) {
  double spread = std::exp(kSigma * normal(facts.draws(lane::kSelfTime + position)));
  return kSelfMedianNano[position] * kRouteScale[facts.route] * spread;
}

std::array<uint64_t, kPositions> self_times(const TraceFacts& facts) {
  std::array<double, kPositions> nanos;
  for (uint32_t position = 0; position < kPositions; ++position) nanos[position] = self_time(facts, position);
  if (const auto stalled = facts.stalled()) {
    // Pareto's with exponent 1; the smallest shares are rounded up, so that the mean is finite.
    double share = unit(static_cast<uint32_t>(facts.draws(lane::kStallLength) >> 32) | 0xffff);
    nanos[*stalled] *= kStallScale / share;
  }
  std::array<uint64_t, kPositions> whole;
  for (uint32_t position = 0; position < kPositions; ++position)
    whole[position] = static_cast<uint64_t>(std::min(nanos[position], kLongestSelfNano));
  return whole;
}

// Lays a span out at `start`: its own time is split before, between and after its children.
struct Layout {
  const TraceFacts& facts;
  std::array<uint64_t, kPositions> own;
  std::array<SpanTimes, kPositions> times{};

  uint64_t place(uint32_t position, uint64_t start) {
    uint64_t before = scaled(facts.draws(lane::kSplit + position), own[position]) / 2;
    uint64_t at = start + before;
    for (uint32_t child = position + 1; child < kPositions; ++child) {
      if (kPositionFacts[child].parent == static_cast<int>(position)) at = place(child, at) + before / 4;
    }
    uint64_t end = std::max(at, start + before) + (own[position] - before) + 1;
    times[position] = {start, end};
    return end;
  }
};

}  // namespace

const PositionFacts& position_facts(uint32_t position) {
  assert(position < kPositions);
  return kPositionFacts[position];
}

std::string_view service_name(uint32_t service) {
  return kServiceNames[service];
}
std::string_view tier_name(Tier tier) {
  return kTierNames[static_cast<size_t>(tier)];
}
std::string_view workload_name(Shape shape) {
  return shape == Shape::kShop ? "shop-v1" : "single-v1";
}

const std::string& operation_name(uint32_t route, uint32_t position) {
  static const auto names = make_operations();
  return names[route][position];
}

Draws::Draws(uint64_t seed, uint64_t index) : base_(finalize(finalize(seed + kGolden) + index * kGolden)) {}
uint64_t Draws::operator()(uint32_t lane) const {
  return finalize(base_ + (lane + 1) * kLaneStep);
}

TraceId TraceFacts::trace_id() const {
  uint64_t halves[2] = {draws(lane::kTraceIdHigh), draws(lane::kTraceIdLow)};
  TraceId id;
  std::memcpy(id.bytes.data(), halves, sizeof halves);
  return id;
}

SpanId TraceFacts::span_id(uint32_t position) const {
  uint64_t draw = draws(lane::kSpanId + position);
  SpanId id;
  std::memcpy(id.bytes.data(), &draw, sizeof draw);
  return id;
}

uint32_t TraceFacts::status_code(uint32_t position) const {
  if (outcome == Outcome::kFailed && (position == 0 || position >= 4)) return 503;
  if (outcome == Outcome::kNotFound && position <= 2) return 404;
  return 200;
}

std::optional<uint32_t> TraceFacts::stalled() const {
  const uint64_t stall = draws(lane::kStall);
  if (below(stall, kStallOneIn) != 0) return std::nullopt;
  return kStallPositions[stall & 3];
}

uint32_t process_of(const TraceFacts& facts, uint32_t service, const Fleet& fleet) {
  if (fleet.processes() == 1) return 0;
  const uint64_t draw = facts.draws(lane::kProcess + service);
  const bool next = facts.index >= fleet.next_version_from;
  const auto stalled = facts.stalled();
  const bool stalls_here = stalled && position_facts(*stalled).service == service;
  if (next && stalls_here && (draw & 3) != 0) return fleet.replicas;
  const uint32_t process = below(draw, fleet.replicas);
  return next && process + 1 == fleet.replicas ? fleet.replicas : process;
}

TraceFacts Workload::facts(uint64_t index) const {
  Draws draws(seed_, index);
  return {draws,
          index,
          drawn_route(draws(lane::kRoute)),
          tier_of(draws(lane::kTier)),
          outcome_of(draws(lane::kOutcome)),
          below(draws(lane::kProduct), kProducts),
          below(draws(lane::kAgent), kAgents)};
}

uint32_t Workload::root_position(const TraceFacts& facts) const {
  return shape_ == Shape::kShop ? 0 : below(facts.draws(lane::kSinglePosition), kPositions);
}

uint64_t Workload::start_of(const TraceFacts& facts) const {
  uint64_t jitter = scaled(facts.draws(lane::kStart), schedule_.trace_period_nano);
  return schedule_.start_unix_nano + facts.index * schedule_.trace_period_nano + jitter;
}

std::array<SpanTimes, kPositions> Workload::times(const TraceFacts& facts) const {
  Layout layout{facts, self_times(facts)};
  uint64_t start = start_of(facts);
  if (shape_ == Shape::kShop) {
    layout.place(0, start);
  } else {
    uint32_t position = root_position(facts);
    layout.times[position] = {start, start + layout.own[position] + 1};
  }
  return layout.times;
}

void write_uuid(uint64_t high, uint64_t low, char* out) {
  static constexpr char kHex[] = "0123456789abcdef";
  high = (high & ~0xf000ULL) | 0x4000;
  low = (low & 0x3fffffffffffffffULL) | 0x8000000000000000ULL;
  for (int digit = 0; digit < 32; ++digit) {
    if (digit == 8 || digit == 12 || digit == 16 || digit == 20) *out++ = '-';
    uint64_t half = digit < 16 ? high : low;
    *out++ = kHex[(half >> (60 - 4 * (digit & 15))) & 15];
  }
}

std::string session_of(const TraceFacts& facts) {
  std::string text(kUuidSize, '\0');
  write_uuid(facts.draws(lane::kSessionHigh), facts.draws(lane::kSessionLow), text.data());
  return text;
}

}  // namespace fathom::bench
