#include "node-agent/agent/tracepoints_face.h"

#include <charconv>

#include "net/json_writer.h"

namespace fathom::agent {

namespace {

void write_tracepoint(net::JsonWriter& json, const Tracepoint& tracepoint) {
  json.begin_object().member("name", tracepoint.name).member("file", tracepoint.file).member("line", tracepoint.line);
  json.member("on", tracepoint.on).key("fields").begin_array();
  for (const TracepointField& field : tracepoint.fields) json.string(field.key);
  json.end_array().end_object();
}

void write_program(net::JsonWriter& json, const ProgramDetail& program) {
  json.begin_object().member("pid", program.process.pid).member("service", program.service);
  json.key("tracepoints").begin_array();
  TracepointTable table = program.pool->tracepoints();
  for (const Tracepoint& tracepoint : table.all()) write_tracepoint(json, tracepoint);
  json.end_array().end_object();
}

bool read_selector(const net::HttpRequest& request, TracepointSelector& selector) {
  selector.service = request.param("service").value_or("");
  std::optional<std::string_view> pid = request.param("pid");
  if (!pid) return true;
  pid_t number = 0;
  auto [end, fault] = std::from_chars(pid->data(), pid->data() + pid->size(), number);
  selector.process = identify_process(number);
  return selector.service.empty() && number > 0 && fault == std::errc{} && end == pid->data() + pid->size();
}

}  // namespace

net::HttpResponse list_tracepoints(const Agent& agent) {
  net::HttpResponse response;
  net::JsonWriter json(response.body);
  json.begin_array();
  for (const ProgramDetail& program : agent.details()) {
    if (!program.ended) write_program(json, program);
  }
  json.end_array();
  return response;
}

net::HttpResponse switch_tracepoints(Agent& agent, const net::HttpRequest& request) {
  TracepointSelector selector;
  if (!read_selector(request, selector)) return net::error_response(400, "pid is no process id, or not alone");
  Result<> switched = agent.switch_tracepoints(selector, request.param("patterns").value_or(""));
  if (switched) return {.body = "{}"};
  return net::error_response(switched.error().code == ErrorCode::kNotFound ? 404 : 400, switched.error().message);
}

}  // namespace fathom::agent
