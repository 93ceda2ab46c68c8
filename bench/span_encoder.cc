#include "bench/span_encoder.h"

#include <charconv>

#include "base/protobuf_writer.h"

namespace fathom::bench {

namespace {

// Field numbers of opentelemetry.proto.trace.v1.Span and its Status.
constexpr uint32_t kTraceId = 1, kSpanId = 2, kParentSpanId = 4, kName = 5, kKind = 6, kStart = 7, kEnd = 8,
                   kAttributes = 9;
constexpr uint32_t kStatus = 15;
constexpr std::string_view kStatusError = {"\x18\x02", 2};  // code = STATUS_CODE_ERROR, without a message
constexpr uint64_t kKindServer = 2, kKindClient = 3;

// Of a field whose tag takes one byte.
constexpr size_t message_bytes(size_t length) {
  return 1 + varint_bytes(length) + length;
}

void attribute_head(auto& out, uint32_t field, std::string_view key, size_t any_value) {
  out.length(field, message_bytes(key.size()) + message_bytes(any_value)).bytes_field(1, key).length(2, any_value);
}

// A KeyValue with a string or an int64 value, as field `field` of what is being written.
void string_attribute(auto& out, uint32_t field, std::string_view key, std::string_view value) {
  attribute_head(out, field, key, message_bytes(value.size()));
  out.bytes_field(1, value);
}
void int_attribute(auto& out, uint32_t field, std::string_view key, uint64_t value) {
  attribute_head(out, field, key, 1 + varint_bytes(value));
  out.varint_field(3, value);
}

// What `write(WireAppender&)` writes.
template <typename Write>
std::string wire_string(Write write) {
  std::string out;
  WireAppender appender(out);
  write(appender);
  return out;
}

constexpr std::array<std::string_view, kServices> kVersions = {"4.11.2", "2.7.0", "3.0.9", "1.19.4"};
constexpr std::array<std::string_view, kServices> kHosts = {"gateway-6c9d8f7b54-x2lqp", "catalog-79f4bd6c88-7wkzn",
                                                            "orders-5d6f8c9b7d-mm4rt", "payments-84b7c5d9f6-qh9vd"};
constexpr std::array<std::string_view, kServices> kNextVersions = {"4.12.0", "2.8.0", "3.1.0", "1.20.0"};
// Whom a client position calls; a server position is its own address.
constexpr std::array<uint32_t, kPositions> kAddressee = {0, 1, 1, 1, 2, 2, 3, 3};

std::string address_of(uint32_t position) {
  if (position_facts(position).type == SpanType::kDatabase) return "catalog-db-primary.shop.svc";
  return std::string(service_name(kAddressee[position])) + ".shop.svc";
}

std::string method_of(uint32_t route, uint32_t position) {
  const std::string& name = operation_name(route, position);
  return name.substr(0, name.find(' '));
}

std::string route_path(uint32_t route, uint32_t position) {
  const std::string& name = operation_name(route, position);
  return name.substr(name.find(' ') + 1);
}

std::string query_text(uint32_t route, uint32_t position) {
  return "SELECT id, title, price FROM " + route_path(route, position) + " WHERE id = $1";
}

void server_constants(WireAppender& out, uint32_t route, uint32_t position) {
  string_attribute(out, kAttributes, "http.method", method_of(route, position));
  string_attribute(out, kAttributes, "http.route", route_path(route, position));
  string_attribute(out, kAttributes, "net.host.name", address_of(position));
}

void client_constants(WireAppender& out, uint32_t route, uint32_t position) {
  string_attribute(out, kAttributes, "http.method", method_of(route, position));
  string_attribute(out, kAttributes, "net.peer.name", address_of(position));
  int_attribute(out, kAttributes, "net.peer.port", 8080);
  string_attribute(out, kAttributes, "http.flavor", "1.1");
}

void database_constants(WireAppender& out, uint32_t route, uint32_t position) {
  string_attribute(out, kAttributes, "db.system", "postgresql");
  string_attribute(out, kAttributes, "db.name", "catalog");
  string_attribute(out, kAttributes, "db.statement", query_text(route, position));
  string_attribute(out, kAttributes, "net.peer.name", address_of(position));
  int_attribute(out, kAttributes, "net.peer.port", 5432);
}

void constants(WireAppender& out, uint32_t route, uint32_t position) {
  switch (position_facts(position).type) {
    case SpanType::kHttpServer:
      return server_constants(out, route, position);
    case SpanType::kHttpClient:
      return client_constants(out, route, position);
    case SpanType::kDatabase:
      return database_constants(out, route, position);
  }
}

// The route up to its "{id}", which the product's number replaces.
std::string path_before_number(uint32_t route, uint32_t position) {
  std::string path = route_path(route, position);
  if (!path.ends_with("{id}")) return {};
  path.resize(path.size() - 4);
  if (position_facts(position).type != SpanType::kHttpClient) return path;
  return "http://" + address_of(position) + ":8080" + path;
}

void name_and_kind(WireAppender& out, uint32_t route, uint32_t position) {
  bool server = position_facts(position).type == SpanType::kHttpServer;
  out.bytes_field(kName, operation_name(route, position));
  out.varint_field(kKind, server ? kKindServer : kKindClient);
}

// Text of a value, made on the stack.
class SmallText {
 public:
  SmallText& add(std::string_view text) {
    std::memcpy(text_ + size_, text.data(), text.size());
    size_ += text.size();
    return *this;
  }
  SmallText& number(uint32_t value) {
    size_ = static_cast<size_t>(std::to_chars(text_ + size_, text_ + sizeof text_, value).ptr - text_);
    return *this;
  }
  std::string_view view() const { return {text_, size_}; }

 private:
  char text_[128];
  size_t size_ = 0;
};

// An ephemeral port, a peer and a size: the numbers that differ from span to span.
struct SpanNumbers {
  uint64_t bits;
  uint32_t port() const { return 32768 + static_cast<uint32_t>(bits & 0xffff) % 28232; }
  uint32_t peer() const { return static_cast<uint32_t>(bits >> 16) % kPeers; }
  uint32_t body_size() const { return 180 + (static_cast<uint32_t>(bits >> 32) & 0xffff); }
  uint32_t returned_rows() const { return static_cast<uint32_t>(bits >> 48) % 100; }
};

void server_attributes(WireWriter& out, const TraceFacts& facts, uint32_t position, std::string_view path) {
  SpanNumbers numbers{facts.draws(lane::kAttribute + position)};
  string_attribute(out, kAttributes, "http.target", SmallText().add(path).number(100'000 + facts.product).view());
  int_attribute(out, kAttributes, "http.status_code", facts.status_code(position));
  string_attribute(out, kAttributes, "net.peer.ip", SmallText().add("10.42.17.").number(numbers.peer()).view());
  int_attribute(out, kAttributes, "net.peer.port", numbers.port());
  SmallText agent;
  agent.add("Firefox/").number(110 + facts.agent).add(".0");
  string_attribute(out, kAttributes, "http.user_agent", agent.view());
}

void client_attributes(WireWriter& out, const TraceFacts& facts, uint32_t position, std::string_view url) {
  SpanNumbers numbers{facts.draws(lane::kAttribute + position)};
  string_attribute(out, kAttributes, "http.url", SmallText().add(url).number(100'000 + facts.product).view());
  int_attribute(out, kAttributes, "http.status_code", facts.status_code(position));
  int_attribute(out, kAttributes, "http.response_size", numbers.body_size());
  int_attribute(out, kAttributes, "net.host.port", numbers.port());
}

void database_attributes(WireWriter& out, const TraceFacts& facts, uint32_t position) {
  SpanNumbers numbers{facts.draws(lane::kAttribute + position)};
  int_attribute(out, kAttributes, "db.parameter.id", 100'000 + facts.product);
  int_attribute(out, kAttributes, "db.rows", numbers.returned_rows());
  int_attribute(out, kAttributes, "net.host.port", numbers.port());
}

void varying_attributes(WireWriter& out, const TraceFacts& facts, uint32_t position, std::string_view path) {
  SpanType type = position_facts(position).type;
  if (type == SpanType::kHttpServer) server_attributes(out, facts, position, path);
  if (type == SpanType::kHttpClient) client_attributes(out, facts, position, path);
  if (type == SpanType::kDatabase) database_attributes(out, facts, position);
  char session[kUuidSize];
  write_uuid(facts.draws(lane::kSessionHigh), facts.draws(lane::kSessionLow), session);
  string_attribute(out, kAttributes, "tenant.tier", tier_name(facts.tier));
  string_attribute(out, kAttributes, "session.id", {session, sizeof session});
}

// Of each service the first process is shop-v1's; the others differ in the last letters of their pods.
std::string host_of(uint32_t service, uint32_t process) {
  std::string host(kHosts[service]);
  static constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz";
  for (uint32_t at = 0; process != 0 && at < 5; ++at)
    host[host.size() - 1 - at] = kLetters[(process * 7 + service * 3 + at * at * 5) % kLetters.size()];
  return host;
}

std::string make_resource(uint32_t service, uint32_t process, const Fleet& fleet) {
  const std::string host = host_of(service, process);
  return wire_string([&](WireAppender& out) {
    string_attribute(out, 1, "service.name", service_name(service));
    string_attribute(out, 1, "service.namespace", "shop");
    string_attribute(out, 1, "service.version",
                     (fleet.has_next() && process == fleet.replicas ? kNextVersions : kVersions)[service]);
    string_attribute(out, 1, "service.instance.id", host + ":8080");
    string_attribute(out, 1, "host.name", host);
    string_attribute(out, 1, "deployment.environment.name", "production");
    string_attribute(out, 1, "telemetry.sdk.name", "opentelemetry");
    string_attribute(out, 1, "telemetry.sdk.language", "cpp");
    string_attribute(out, 1, "telemetry.sdk.version", "1.16.1");
    int_attribute(out, 1, "process.pid", 4000 + 17 * service + 101 * process);
  });
}

}  // namespace

SpanEncoder::SpanEncoder(const Workload& workload, const Fleet& fleet) : workload_(workload) {
  for (uint32_t route = 0; route < kRoutes; ++route) {
    for (uint32_t position = 0; position < kPositions; ++position) {
      Template& made = templates_[route][position];
      made.name_and_kind = wire_string([&](WireAppender& out) { name_and_kind(out, route, position); });
      made.constant_attributes = wire_string([&](WireAppender& out) { constants(out, route, position); });
      made.path_before_number = path_before_number(route, position);
    }
  }
  for (uint32_t service = 0; service < kServices; ++service) {
    for (uint32_t process = 0; process < fleet.processes(); ++process)
      resources_[service].push_back(make_resource(service, process, fleet));
  }
  scope_ = wire_string([](WireAppender& out) {
    out.bytes_field(1, "shop.instrumentation");
    out.bytes_field(2, "1.4.0");
  });
}

char* SpanEncoder::append(char* at, const TraceFacts& facts, uint32_t position, const SpanTimes& times) const {
  const Template& common = templates_[facts.route][position];
  WireWriter out(at);
  char* began = out.begin(2);  // every span takes less than 16,384 bytes
  out.bytes_field(kTraceId, facts.trace_id().view());
  out.bytes_field(kSpanId, facts.span_id(position).view());
  bool root = position == workload_.root_position(facts);
  if (!root) out.bytes_field(kParentSpanId, facts.span_id(position_facts(position).parent).view());
  out.raw(common.name_and_kind);
  out.fixed64_field(kStart, times.start_unix_nano);
  out.fixed64_field(kEnd, times.end_unix_nano);
  out.raw(common.constant_attributes);
  varying_attributes(out, facts, position, common.path_before_number);
  if (facts.status_code(position) >= 500) out.bytes_field(kStatus, kStatusError);
  out.end(began);
  return out.at();
}

std::string SpanEncoder::request_head(uint32_t service, size_t body_bytes, uint32_t process) const {
  const std::string& resource = resources_[service][process];
  const size_t scope_spans = message_bytes(scope_.size()) + body_bytes;
  std::string head;
  WireAppender out(head);
  out.length(1, message_bytes(resource.size()) + message_bytes(scope_spans)).bytes_field(1, resource);
  out.length(2, scope_spans).bytes_field(1, scope_);
  return head;
}

}  // namespace fathom::bench
