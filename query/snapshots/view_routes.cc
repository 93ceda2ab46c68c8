#include "query/snapshots/view_routes.h"

#include <string>

#include "base/ids.h"
#include "query/snapshots/snapshot_queries.h"
#include "query/snapshots/snapshot_store.h"

namespace fathom::query {

namespace {

constexpr int64_t kMostOffset = (1LL << 53) - 1;  // what a number of JSON holds
constexpr uint64_t kMostRow = UINT32_MAX;
constexpr uint64_t kMostColumns = 4096;
constexpr uint64_t kMostDepths = 256;
constexpr uint64_t kMostRows = 500;
constexpr size_t kMostTextBytes = 4096;
constexpr uint64_t kMostContext = 50;
constexpr uint64_t kContext = 5;

// The words of an ask, those that were given.
class AskLine {
 public:
  AskLine(std::string_view verb, Params& params) : line_(verb), params_(params) {}

  void number(std::string_view key, uint64_t low, uint64_t high) {
    constexpr uint64_t kNotGiven = UINT64_MAX;
    const uint64_t value = params_.number(key, low, high, kNotGiven);
    if (value != kNotGiven) add(key, std::to_string(value));
  }
  void offset(std::string_view key) {
    if (auto value = params_.integer(key, -kMostOffset, kMostOffset)) add(key, std::to_string(*value));
  }
  // In hexadecimal digits: a line stays a line.
  bool text(std::string_view key) {
    auto value = params_.text(key);
    if (!value) return false;
    add(key, to_hex(std::string_view(*value).substr(0, kMostTextBytes)));
    return true;
  }
  void add(std::string_view key, std::string_view value) { line_.append(" ").append(key).append("=").append(value); }
  std::string take() { return std::move(line_); }

 private:
  std::string line_;
  Params& params_;
};

RoutedQuery ask_query(std::string_view name, const SnapshotId& id, std::string line) {
  return {
      .name = name,
      .work = [id, line = std::move(line)](const Stores& stores, store::QueryBudget& budget) -> Result<std::string> {
        if (stores.snapshots == nullptr) return not_found("this server keeps no snapshots");
        return stores.snapshots->look_into(id, line, budget);
      },
      .lane = Lane::kViews};
}

RoutedQuery calls_route(const SnapshotId& id, Params& params) {
  AskLine ask("calls", params);
  ask.number("thread", 0, UINT32_MAX);
  if (params.choice("axis", "time", "rows")) ask.add("axis", "rows");
  ask.offset("from");
  ask.offset("to");
  ask.number("columns", 1, kMostColumns);
  ask.number("first_depth", 0, UINT32_MAX);
  ask.number("depths", 1, kMostDepths);
  return ask_query("snapshot_view_calls", id, ask.take());
}

RoutedQuery insns_route(const SnapshotId& id, Params& params) {
  AskLine ask("insns", params);
  ask.number("thread", 0, UINT32_MAX);
  ask.number("row", 0, kMostRow);
  ask.offset("at");
  ask.number("count", 1, kMostRows);
  return ask_query("snapshot_view_insns", id, ask.take());
}

RoutedQuery stack_route(const SnapshotId& id, Params& params) {
  AskLine ask("stack", params);
  ask.number("thread", 0, UINT32_MAX);
  ask.number("row", 0, kMostRow);
  ask.number("depth", 0, UINT32_MAX);
  return ask_query("snapshot_view_stack", id, ask.take());
}

Result<RoutedQuery> find_route(const SnapshotId& id, Params& params) {
  AskLine ask("find", params);
  ask.number("thread", 0, UINT32_MAX);
  ask.number("row", 0, kMostRow);
  const bool function = ask.text("function");
  const bool text = ask.text("text");
  if (params.flag("backwards")) ask.add("backwards", "true");
  if (function == text) {
    return invalid("give 'function' or 'text', and one of them: part of a function's name, or of an instruction");
  }
  return ask_query("snapshot_view_find", id, ask.take());
}

// The worker says whether a line of the snapshot is of the file, which is here.
Result<RoutedQuery> source_route(const SnapshotId& id, Params& params) {
  SourceQuestion question{.id = id, .file = params.text("file").value_or("")};
  question.ask = "source text=" + to_hex(question.file);
  question.line = static_cast<uint32_t>(params.number("line", 1, UINT32_MAX, 0));
  question.context = static_cast<uint32_t>(params.number("context", 0, kMostContext, kContext));
  if (question.file.empty() || params.texts("line").empty()) {
    return invalid("give 'file' and 'line', as the rows of view/insns have them");
  }
  return RoutedQuery{.name = "snapshot_view_source",
                     .work = [question](const Stores& stores,
                                        store::QueryBudget& budget) { return run_source(stores, question, budget); },
                     .lane = Lane::kViews};
}

}  // namespace

std::optional<Result<RoutedQuery>> view_route(const SnapshotId& id, std::string_view tail, Params& params) {
  if (tail == "view") return ask_query("snapshot_view", id, "threads");
  if (tail == "view/calls") return calls_route(id, params);
  if (tail == "view/insns") return insns_route(id, params);
  if (tail == "view/stack") return stack_route(id, params);
  if (tail == "view/find") return find_route(id, params);
  if (tail == "view/source") return source_route(id, params);
  return std::nullopt;
}

}  // namespace fathom::query
