#include "query/control_asks.h"

#include <algorithm>
#include <boost/json.hpp>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

#include "base/name_pattern.h"
#include "base/time.h"
#include "ingest/limits.h"
#include "query/params.h"

namespace fathom::query {

namespace {

namespace json = boost::json;

constexpr uint32_t kMostPid = 1U << 30;  // beyond what Linux has

// Reads members by name and keeps the first fault, as Params does for parameters.
class Members {
 public:
  explicit Members(std::string_view text) {
    json::error_code fault;
    json::value value = json::parse({text.data(), text.size()}, fault);
    if (fault || !value.is_object()) {
      blame("the body must be a JSON object");
    } else {
      object_ = std::move(value.get_object());
    }
  }

  std::string text(std::string_view key) {
    const json::value* value = find(key);
    if (value == nullptr) return "";
    if (const json::string* text = value->if_string(); text != nullptr && text->size() <= ingest::kMostTextBytes) {
      return {text->data(), text->size()};
    }
    blame("'" + std::string(key) + "' must be a string of at most 256 bytes");
    return "";
  }
  uint64_t number(std::string_view key, uint64_t most) {
    const json::value* value = find(key);
    if (value == nullptr) return 0;
    json::error_code fault;
    uint64_t number = value->to_number<uint64_t>(fault);
    if (!fault && !value->is_double() && number <= most) return number;
    blame("'" + std::string(key) + "' must be a whole number of at most " + std::to_string(most));
    return 0;
  }
  bool flag(std::string_view key) {
    const json::value* value = find(key);
    if (value == nullptr) return false;
    if (!value->is_bool()) blame("'" + std::string(key) + "' must be true or false");
    return value->is_bool() && value->get_bool();
  }
  std::vector<std::string> texts(std::string_view key) {
    std::vector<std::string> texts;
    const json::value* value = find(key);
    const json::array* array = value == nullptr ? nullptr : value->if_array();
    if (value != nullptr && array == nullptr) blame("'" + std::string(key) + "' must be an array of strings");
    if (array == nullptr) return texts;
    for (const json::value& one : *array) {
      if (const json::string* text = one.if_string()) {
        texts.emplace_back(text->data(), text->size());
      } else {
        blame("'" + std::string(key) + "' must be an array of strings");
      }
    }
    return texts;
  }

  void blame(std::string message) {
    if (!fault_) fault_ = invalid(std::move(message));
  }
  std::optional<Error> finish() {
    for (const auto& member : object_) {
      std::string_view key(member.key().data(), member.key().size());
      if (std::find(known_.begin(), known_.end(), key) == known_.end())
        blame("there is no member '" + std::string(key) + "'");
    }
    return std::move(fault_);
  }

 private:
  const json::value* find(std::string_view key) {
    known_.push_back(key);
    return object_.if_contains({key.data(), key.size()});
  }

  json::object object_;
  std::vector<std::string_view> known_;
  std::optional<Error> fault_;
};

TraceId trace_of(Members& members) {
  std::string text = members.text("trace_id");
  if (text.empty()) return {};
  std::optional<TraceId> id = TraceId::from_hex_text(text);
  if (!id || id->is_zero()) members.blame("'trace_id' must be 32 hexadecimal digits, not all of them zero");
  return id.value_or(TraceId{});
}

std::optional<Error> fault_of_patterns(const std::vector<std::string>& patterns) {
  if (patterns.size() > ingest::kMostPatterns) return invalid("there may be 64 patterns at most");
  if (std::all_of(patterns.begin(), patterns.end(), is_name_pattern)) return std::nullopt;
  return invalid(
      "a pattern is a tracepoint's name, in which '*' stands for anything and '?' for any one byte, without blanks and "
      "commas and of less than 256 bytes");
}

ingest::TracepointAction action_of(Members& members) {
  std::string action = members.text("action");
  if (action == "disable") return ingest::TracepointAction::kDisable;
  if (action != "enable") members.blame("'action' must be enable or disable");
  return ingest::TracepointAction::kEnable;
}

std::optional<Error> fault_of_selection(const ingest::CaptureRequest& request) {
  int given = int{!request.trace_id.is_zero()} + int{request.pid != 0} + int{!request.service.empty()};
  if (given == 1) return std::nullopt;
  return invalid("say whose events: one of 'trace_id', 'pid' and 'service'");
}

}  // namespace

Result<CaptureAsk> parse_capture_ask(std::string_view text) {
  Members members(text);
  CaptureAsk ask;
  ask.request.trace_id = trace_of(members);
  ask.request.pid = static_cast<uint32_t>(members.number("pid", kMostPid));
  ask.request.service = members.text("service");
  ask.node = members.text("node");
  ask.request.duration_nano = members.number("duration_nano", kMostCaptureNano);
  ask.ahead = members.flag("ahead");
  ask.request.reason = members.text("reason");
  if (auto fault = members.finish()) return *std::move(fault);
  if (auto fault = fault_of_selection(ask.request)) return *std::move(fault);
  if (ask.request.duration_nano == 0 && (ask.request.trace_id.is_zero() || ask.ahead))
    ask.request.duration_nano = kDefaultCaptureNano;
  return ask;
}

Result<TracepointAsk> parse_tracepoint_ask(std::string_view text) {
  Members members(text);
  TracepointAsk ask;
  ask.request.action = action_of(members);
  ask.request.patterns = members.texts("patterns");
  ask.request.pid = static_cast<uint32_t>(members.number("pid", kMostPid));
  ask.request.service = members.text("service");
  ask.node = members.text("node");
  if (ask.request.patterns.empty()) members.blame("'patterns' must name tracepoints; [\"*\"] are all");
  if (auto fault = members.finish()) return *std::move(fault);
  if (auto fault = fault_of_patterns(ask.request.patterns)) return *std::move(fault);
  return ask;
}

Result<TracepointAsk> tracepoint_list_ask(const net::HttpRequest& request) {
  Params params(request, now_unix_nano());
  TracepointAsk ask;
  ask.request.patterns = params.texts("pattern");
  ask.request.pid = static_cast<uint32_t>(params.number("pid", 1, kMostPid, 0));
  ask.request.service = params.text("service").value_or("");
  ask.node = params.text("node").value_or("");
  params.duration_nano("timeout");  // as all addresses take it; nodes have five seconds in any case
  if (Result<> read = params.finish(); !read) return read.error();
  if (auto fault = fault_of_patterns(ask.request.patterns)) return *std::move(fault);
  return ask;
}

Result<> tracepoint_rules_ask(const net::HttpRequest& request) {
  Params params(request, now_unix_nano());
  params.duration_nano("timeout");  // as all addresses take it
  return params.finish();
}

}  // namespace fathom::query
