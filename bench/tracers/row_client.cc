#include "bench/tracers/row_client.h"

#include <boost/json.hpp>

namespace fathom::bench::tracers {

namespace json = boost::json;

namespace {

Result<json::object> ask(Subprocess& program, const json::object& request) {
  const Result<std::string> line = program.ask(json::serialize(request));
  if (!line) return line.error();
  boost::system::error_code error;
  const json::value answer = json::parse(*line, error);
  if (error || !answer.is_object()) return corrupt("no answer of a row: " + *line);
  const json::value* fault = answer.as_object().if_contains("fault");
  if (fault == nullptr) return answer.as_object();
  return unavailable("row " + std::string(request.at("row").as_string()) + ": " + json::serialize(*fault));
}

json::object request_of(const std::string& row, const char* what) {
  return {{"row", row}, {"do", what}};
}

}  // namespace

Result<> ask_fill(Subprocess& program, const std::string& row, const std::vector<unsigned>& workers) {
  json::object request = request_of(row, "fill");
  request["workers"] = json::value_from(workers);
  Result<json::object> answer = ask(program, request);
  if (!answer) return answer.error();
  return {};
}

Result<std::vector<double>> ask_loops(Subprocess& program, const std::string& row, const std::vector<unsigned>& workers,
                                      const LoopPlan& plan) {
  json::object request = request_of(row, "loops");
  request["workers"] = json::value_from(workers);
  request["loops"] = plan.loops;
  request["calls"] = plan.calls;
  request["pause_us"] = plan.pause_us;
  Result<json::object> answer = ask(program, request);
  if (!answer) return answer.error();
  return json::value_to<std::vector<double>>(answer->at("ns"));
}

Result<SingleTimes> ask_singles(Subprocess& program, const std::string& row, const SinglePlan& plan) {
  json::object request = request_of(row, "each");
  request["calls"] = plan.calls;
  request["interruption_ns"] = plan.interruption_ns;
  Result<json::object> answer = ask(program, request);
  if (!answer) return answer.error();
  auto number = [&](const char* key) { return answer->at(key).to_number<double>(); };
  return SingleTimes{number("average"), number("deviation"), number("p90"),     number("slow"),
                     number("every"),   number("switch"),    number("switches")};
}

}  // namespace fathom::bench::tracers
