#include "bench/testing/fake_answers.h"

#include <boost/json.hpp>
#include <map>
#include <mutex>
#include <set>

#include "net/http_server.h"

namespace fathom::bench {

namespace json = boost::json;

namespace {

json::object row_json(const ExpectedTrace& row) {
  TraceFacts facts = row.facts();
  return {{"trace_id", facts.trace_id().hex()},
          {"span_id", facts.span_id(0).hex()},
          {"service", "gateway"},
          {"operation", operation_name(facts.route, 0)},
          {"start_time_unix_nano", std::to_string(row.start_unix_nano)},
          {"duration_nano", row.duration_nano},
          {"root_duration_nano", row.duration_nano},
          {"complete", true},
          {"error", facts.outcome == Outcome::kFailed},
          {"spans", kPositions}};
}

json::object attributes_json(const TraceFacts& facts) {
  json::object attributes{{"session.id", session_of(facts)}};
  while (attributes.size() < kAttributesPerSpan) attributes["other." + std::to_string(attributes.size())] = 1;
  return attributes;
}

json::object span_json(const TraceFacts& facts, uint32_t position, const SpanTimes& times) {
  return {{"span_id", facts.span_id(position).hex()},
          {"service", service_name(position_facts(position).service)},
          {"operation", operation_name(facts.route, position)},
          {"start_time_unix_nano", std::to_string(times.start_unix_nano)},
          {"duration_nano", times.duration_nano()},
          {"attributes", attributes_json(facts)}};
}

uint64_t number(const net::HttpRequest& request, std::string_view key) {
  return std::stoull(std::string(request.param(key).value_or("0")));
}

}  // namespace

std::string slowest_json(const std::vector<ExpectedTrace>& rows, const std::string& next_cursor) {
  json::array array;
  for (const ExpectedTrace& row : rows) array.push_back(row_json(row));
  json::object answer{{"rows", std::move(array)}};
  if (!next_cursor.empty()) answer["next_cursor"] = next_cursor;
  return json::serialize(answer);
}

std::string trace_json(const Workload& workload, uint64_t index) {
  TraceFacts facts = workload.facts(index);
  auto times = workload.times(facts);
  json::array spans;
  for (uint32_t position = 0; position < kPositions; ++position)
    spans.push_back(span_json(facts, position, times[position]));
  return json::serialize(
      json::object{{"trace_id", facts.trace_id().hex()}, {"complete", true}, {"spans", std::move(spans)}});
}

struct FakeQueryServer::Impl : net::HttpHandler {
  Impl(const TraceTable& given, Spoil given_spoil)
      : table(given), brute_force({&given}), spoil(std::move(given_spoil)) {
    for (uint64_t index = 0; index < table.count(); ++index)
      by_id[table.workload().facts(index).trace_id().hex()] = index;
  }
  std::optional<net::HttpResponse> admit(net::HttpRequest&) override { return std::nullopt; }
  uint64_t max_body_bytes() const override { return 0; }
  void handle(net::HttpRequest request, net::HttpRespond respond) override {
    std::lock_guard lock(mutex);
    respond(request.path == "/api/v1/slowest" ? slowest(request) : trace(request.path.substr(15)));
  }

  net::HttpResponse slowest(const net::HttpRequest& request) {
    Question question{number(request, "from"), number(request, "to")};
    question.canary = request.param("where").has_value();
    if (auto operation = request.param("operation")) question.route = route_of(*operation);
    size_t limit = number(request, "limit");
    size_t skip = number(request, "cursor");
    pages_served += request.param("cursor").has_value();
    auto rows = brute_force.slowest(question, skip + limit + 1);
    std::string cursor = rows.size() > skip + limit ? std::to_string(skip + limit) : "";
    rows.erase(rows.begin(), rows.begin() + static_cast<long>(std::min(skip, rows.size())));
    rows.resize(std::min(rows.size(), limit));
    if (spoil) spoil(rows);
    return {200, "application/json", slowest_json(rows, cursor)};
  }

  net::HttpResponse trace(const std::string& id) {
    auto found = by_id.find(id);
    if (found != by_id.end()) return {200, "application/json", trace_json(table.workload(), found->second)};
    return {asked_before.insert(id).second ? 404 : 200, "application/json", "{}"};
  }

  static std::optional<uint32_t> route_of(std::string_view operation) {
    for (uint32_t route = 0; route < kRoutes; ++route) {
      for (uint32_t position = 0; position < kPositions; ++position) {
        if (operation_name(route, position) == operation) return route;
      }
    }
    return std::nullopt;
  }

  const TraceTable& table;
  BruteForce brute_force;
  Spoil spoil;
  std::map<std::string, uint64_t> by_id;
  std::mutex mutex;
  std::set<std::string> asked_before;
  std::atomic<size_t> pages_served{0};
  std::unique_ptr<net::HttpServer> server;
  std::string address;
};

// The HTTP server owns its handler; what this class keeps is shared with it, and the server is stopped first.
FakeQueryServer::FakeQueryServer(const TraceTable& table, Spoil spoil)
    : impl_(std::make_unique<Impl>(table, std::move(spoil))) {
  std::shared_ptr<net::HttpHandler> handler(std::shared_ptr<void>(), impl_.get());
  impl_->server = std::make_unique<net::HttpServer>(net::HttpServerOptions{}, handler);
  impl_->address = impl_->server->start().value();
}

FakeQueryServer::~FakeQueryServer() {
  impl_->server->stop(0);
}
const std::string& FakeQueryServer::address() const {
  return impl_->address;
}
size_t FakeQueryServer::pages_served() const {
  return impl_->pages_served;
}

}  // namespace fathom::bench
