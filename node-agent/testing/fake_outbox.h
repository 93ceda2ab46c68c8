// FakeOutbox: keeps batches for the test to look at and to acknowledge; as the real one, it never answers from within
// send(). A batch whose identity it has kept before counts once, as at the collector.
#pragma once

#include <cstring>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "node-agent/outbox.h"
#include "otlp/trace_service.pb.h"

namespace fathom::agent::testing {

using Stored = std::map<uint64_t, int>;  // a batch's number -> how often

class FakeOutbox : public Outbox {
 public:
  struct Waiting {
    OutgoingBatch batch;
    std::function<void(Outcome)> done;
  };

  bool room(uint64_t /*bytes*/) override { return has_room && waiting.size() < most_waiting; }
  uint64_t most_bytes() const override { return largest_batch; }
  void send(OutgoingBatch batch, std::function<void(Outcome)> done) override {
    waiting.push_back({std::move(batch), std::move(done)});
  }

  // What the collector and its answer do.
  void keep_one() {
    Waiting next = std::move(waiting.front());
    waiting.erase(waiting.begin());
    store(next.batch);
    next.done(Outcome::kKept);
  }
  void keep_all() {
    while (!waiting.empty()) keep_one();
  }
  void store(const OutgoingBatch& batch) {
    if (!identities.insert(batch.identity).second) {
      ++repeated;
      return;
    }
    for (uint64_t number : numbers_in(batch)) ++stored[number];
  }
  // Numbers of make_record().
  static std::vector<uint64_t> numbers_in(const OutgoingBatch& batch) {
    opentelemetry::proto::collector::trace::v1::ExportTraceServiceRequest request;
    std::vector<uint64_t> numbers;
    if (!request.ParseFromString(batch.otlp)) return numbers;
    for (const auto& resource : request.resource_spans())
      for (const auto& scope : resource.scope_spans())
        for (const auto& span : scope.spans()) {
          uint64_t number;
          std::memcpy(&number, span.span_id().data(), sizeof number);
          numbers.push_back(number - 1);
        }
    return numbers;
  }

  bool has_room = true;
  size_t most_waiting = SIZE_MAX;
  uint64_t largest_batch = UINT64_MAX;
  std::vector<Waiting> waiting;
  std::set<std::array<uint8_t, 16>> identities;
  Stored stored;
  int repeated = 0;
};

}  // namespace fathom::agent::testing
