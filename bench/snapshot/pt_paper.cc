#include "bench/snapshot/pt_paper.h"

#include <algorithm>
#include <boost/json.hpp>
#include <limits>

#include "bench/loops.h"
#include "snapshot/analyze/question.h"

namespace fathom::bench {
namespace {

using namespace fathom::snapshot;

constexpr double kNormal = 100;
constexpr double kPercent = 100;
constexpr double kMega = 1e6;

struct Resolution {
  double median_nano = 0;
  double median_instructions = 0;
};

// As `fathom snapshot stats` tells it.
Result<Resolution> resolution_of(const SnapshotDirectory& directory, const SnapshotId& id) {
  Question question;
  question.verb = Verb::kStats;
  question.id = id;
  question.format = Format::kJson;
  std::string text;
  auto answered = answer(directory, question, [&](std::string_view piece) {
    text += piece;
    return true;
  });
  if (!answered) return answered.error();
  boost::system::error_code fault;
  const boost::json::value stats = boost::json::parse(text, fault);
  if (fault || !stats.is_object() || !stats.as_object().contains("time_resolution")) {
    return internal("the snapshot's stats have no time_resolution");
  }
  const auto& resolution = stats.at("time_resolution").as_object();
  return Resolution{resolution.at("median_time").to_number<double>(),
                    resolution.at("median_instructions").to_number<double>()};
}

struct SweepKind {
  const char* name;
  const char* values;  // of caps/
  const char* needs;
  void (*set)(PtOptions&, uint8_t);
};

constexpr SweepKind kSweeps[] = {
    {"cyc_thresh", "cycle_thresholds", "psb_cyc",
     [](PtOptions& options, uint8_t value) {
       options.cyc = true;
       options.cyc_thresh = value;
     }},
    {"mtc_period", "mtc_periods", "mtc",
     [](PtOptions& options, uint8_t value) {
       options.mtc = true;
       options.mtc_period = value;
     }},
    {"psb_period", "psb_periods", "psb_cyc", [](PtOptions& options, uint8_t value) { options.psb_period = value; }},
};

PtOptions user_code_alone() {
  PtOptions options;
  options.mtc = false;
  return options;
}

Result<SweepPoint> measure_point(const PtHost& host, PtWorkload& workload, uint64_t turns, uint8_t value,
                                 const PtOptions& options) {
  auto turn = run_recorded(host.system, host.directory, options, workload, turns);
  if (!turn) return turn.error();
  auto resolution = resolution_of(host.directory, turn->id);
  if (!resolution) return resolution.error();
  if (auto removed = host.directory.remove(turn->id); !removed) return removed.error();
  return SweepPoint{value, turn->packet_bytes, resolution->median_nano, resolution->median_instructions, 0};
}

double product_of(const SweepPoint& point) {
  return point.median_instructions / 2 * (point.median_nano / 2);
}

}  // namespace

Result<TracedOver> measure_traced(PtWorkload& workload, uint64_t turns, int rounds,
                                  const std::function<Result<double>()>& traced) {
  std::vector<double> baseline, over;
  for (int round = 0; round < rounds; ++round) {
    auto alone = workload.run(turns);
    if (!alone) return alone.error();
    auto took = traced();
    if (!took) return took.error();
    if (*alone <= 0) return internal("a turn of a workload took no time");
    baseline.push_back(*alone);
    over.push_back((*took - *alone) / *alone * kPercent);
  }
  return TracedOver{median(baseline), median(over)};
}

Result<PtOverhead> measure_overhead(const PtHost& host, PtWorkload& workload, uint64_t turns, int rounds) {
  std::vector<double> rates;
  const auto traced = [&]() -> Result<double> {
    auto turn = run_recorded(host.system, host.directory, PtOptions(), workload, turns);
    if (!turn) return turn.error();
    rates.push_back(turn->bytes_per_s / kMega);
    if (auto removed = host.directory.remove(turn->id); !removed) return removed.error();
    return turn->seconds;
  };
  auto over = measure_traced(workload, turns, rounds, traced);
  if (!over) return over.error();
  return PtOverhead{over->overhead_percent, median(rates)};
}

std::vector<std::pair<uint8_t, PtOptions>> sweep_settings(const PtPmu& pmu, const std::string& name) {
  std::vector<std::pair<uint8_t, PtOptions>> settings;
  const auto* kind = std::ranges::find(kSweeps, name, &SweepKind::name);
  if (kind == std::end(kSweeps) || !pmu.offers(kind->needs)) return settings;
  for (uint8_t value = 0; value < 64; ++value) {
    if ((pmu.cap_value(kind->values) >> value & 1) == 0) continue;
    settings.emplace_back(value, user_code_alone());
    kind->set(settings.back().second, value);
  }
  return settings;
}

Result<std::vector<Sweep>> measure_sweeps(const PtHost& host, PtWorkload& workload, uint64_t turns) {
  auto pmu = read_pt_pmu(host.system);
  if (!pmu) return pmu.error();
  std::vector<Sweep> sweeps;
  for (const SweepKind& kind : kSweeps) {
    Sweep sweep{kind.name, {}, {}};
    for (const auto& [value, options] : sweep_settings(*pmu, kind.name)) {
      auto point = measure_point(host, workload, turns, value, options);
      if (!point) return point.error();
      sweep.points.push_back(*point);
    }
    if (sweep.points.empty()) sweep.why_not = std::string("this processor has no ") + kind.name + " to choose";
    sweeps.push_back(std::move(sweep));
  }
  place_factors(sweeps);
  return sweeps;
}

void place_factors(std::vector<Sweep>& sweeps) {
  double least = std::numeric_limits<double>::max(), most = 0;
  for (const Sweep& sweep : sweeps) {
    for (const SweepPoint& point : sweep.points) {
      least = std::min(least, product_of(point));
      most = std::max(most, product_of(point));
    }
  }
  for (Sweep& sweep : sweeps) {
    for (SweepPoint& point : sweep.points) {
      point.factor = most > least ? kNormal / (most - least) * (product_of(point) - least) : 0;
    }
  }
}

}  // namespace fathom::bench
