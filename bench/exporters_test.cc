// busy-v1: the fleet of shop-v1.
#include "bench/exporters.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "bench/testing/schedule.h"
#include "otlp/trace_service.pb.h"

namespace fathom::bench {
namespace {

using ExportProto = opentelemetry::proto::collector::trace::v1::ExportTraceServiceRequest;

constexpr uint64_t kExportedTraces = 20'000;
constexpr Fleet kFleet{5, kExportedTraces / 2};

std::map<std::string, std::string> resource_of(const ExportProto& request) {
  std::map<std::string, std::string> all;
  for (const auto& attribute : request.resource_spans(0).resource().attributes())
    all[attribute.key()] = attribute.value().string_value();
  return all;
}

template <typename Visit>
void for_each_request(const Fleet& fleet, Visit visit) {
  const Workload workload(Shape::kShop, 1, kTestSchedule);
  Exporters exporters(workload, 0, kExportedTraces, fleet);
  for (ExportRequest request; exporters.next(request);) {
    ExportProto proto;
    ASSERT_TRUE(proto.ParseFromString(std::string(request.head) + std::string(request.body)));
    visit(proto, resource_of(proto));
  }
}

TEST(Fleet, EachServiceHasItsProcessesAndTwoVersions) {
  std::map<std::string, std::set<std::string>> hosts, versions;
  uint64_t spans = 0;
  for_each_request(kFleet, [&](const ExportProto& request, auto resource) {
    hosts[resource["service.name"]].insert(resource["host.name"]);
    versions[resource["service.name"]].insert(resource["service.version"]);
    spans += static_cast<uint64_t>(request.resource_spans(0).scope_spans(0).spans_size());
  });
  EXPECT_EQ(spans, kExportedTraces * kPositions);
  ASSERT_EQ(hosts.size(), kServices);
  for (const auto& [service, names] : hosts) EXPECT_EQ(names.size(), kFleet.processes()) << service;
  for (const auto& [service, names] : versions) EXPECT_EQ(names.size(), 2u) << service;
}

TEST(Fleet, TheNextVersionComesLaterAndStallsMoreOften) {
  const Workload workload(Shape::kShop, 1, kTestSchedule);
  uint64_t stalls = 0, there = 0, usual = 0, usual_there = 0;
  for (uint64_t index = 0; index < 10 * kExportedTraces; ++index) {
    const TraceFacts facts = workload.facts(index);
    const auto stalled = facts.stalled();
    const uint32_t service = stalled ? position_facts(*stalled).service : 0;
    const bool next = process_of(facts, service, kFleet) == kFleet.replicas;
    if (index < kFleet.next_version_from) {
      ASSERT_FALSE(next);
      continue;
    }
    (stalled ? stalls : usual) += 1;
    (stalled ? there : usual_there) += next;
  }
  EXPECT_NEAR(static_cast<double>(there) / static_cast<double>(stalls), 0.8, 0.06);
  EXPECT_NEAR(static_cast<double>(usual_there) / static_cast<double>(usual), 0.2, 0.02);
}

}  // namespace
}  // namespace fathom::bench
