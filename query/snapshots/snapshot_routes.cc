#include "query/snapshots/snapshot_routes.h"

#include <algorithm>
#include <array>

#include "query/snapshots/snapshot_queries.h"
#include "query/snapshots/view_routes.h"

namespace fathom::query {

namespace {

using store::QueryBudget;
using Routed = Result<RoutedQuery>;

constexpr std::string_view kSnapshots = "/api/v1/snapshots";
constexpr std::string_view kSnapshot = "/api/v1/snapshots/";
constexpr std::string_view kImage = "/api/v1/images/";
constexpr std::string_view kBytesTail = "/bytes";
constexpr size_t kMostPatternBytes = 4096;
constexpr uint64_t kMostTid = 1U << 30;  // beyond what Linux has

struct VerbName {
  std::string_view verb;
  std::string_view query;  // the label in metrics
};
constexpr std::array kVerbs{VerbName{"insns", "snapshot_insns"},         VerbName{"calls", "snapshot_calls"},
                            VerbName{"functions", "snapshot_functions"}, VerbName{"delta", "snapshot_delta"},
                            VerbName{"syscalls", "snapshot_syscalls"},   VerbName{"sunburst", "snapshot_sunburst"},
                            VerbName{"stats", "snapshot_stats"},         VerbName{"diff", "snapshot_diff"}};

Result<SnapshotId> snapshot_id(std::string_view text) {
  auto id = SnapshotId::from_hex_text(text);
  if (id) return *id;
  return invalid("a snapshot id is 32 hexadecimal digits");
}

Routed list_route(Params& params) {
  SnapshotsQuery query;
  auto trace = params.text("trace_id");
  if (trace) {
    query.filter.trace_id = TraceId::from_hex_text(*trace);
    if (!query.filter.trace_id) return invalid("'trace_id': a trace id is 32 hexadecimal digits");
  }
  query.filter.host = params.text("host");
  if (params.gives_range()) {
    auto asked = params.range();
    query.filter.range = asked.range;
    query.range_text = asked.text;
  } else {
    params.range();  // so that it is known
  }
  query.limit = params.number("limit", 1, kMaxRows, kDefaultRows);
  query.cursor = params.text("cursor").value_or("");
  return RoutedQuery{.name = "snapshots", .work = [query](const Stores& stores, QueryBudget& budget) {
                       return run_snapshots(stores, query, budget);
                     }};
}

Routed bytes_route(Params& params, const ContentName& name) {
  const uint64_t offset = params.number("offset", 0, UINT64_MAX, 0);
  const size_t size = params.number("bytes", 1, kMostPieceBytes, kMostPieceBytes);
  return RoutedQuery{.name = name.is_image ? "image_bytes" : "snapshot_bytes",
                     .content_type = "application/octet-stream",
                     .work =
                         [name, offset, size](const Stores& stores, QueryBudget& budget) {
                           return run_snapshot_bytes(stores, name, offset, size, budget);
                         },
                     .lane = Lane::kTransfers};
}

// As one word: a pattern may begin with a dash.
Result<> add_pattern(Params& params, std::string_view key, std::vector<std::string>& words) {
  auto pattern = params.text(key);
  if (!pattern) return {};
  if (pattern->size() > kMostPatternBytes || pattern->find('\0') != std::string::npos) {
    return invalid("'" + std::string(key) + "' is no pattern: at most " + std::to_string(kMostPatternBytes) +
                   " bytes, none of them zero");
  }
  words.push_back("--" + std::string(key) + "=" + *pattern);
  return {};
}

// What all verbs take, as words of fathom-worker; it knows which verb wants which.
Result<> add_parameters(Params& params, std::vector<std::string>& words, bool& svg) {
  svg = params.choice("format", "json", "svg");
  words.insert(words.end(), {"--format", svg ? "svg" : "json"});
  if (params.flag("count")) words.emplace_back("--count");
  if (params.flag("inlines")) words.emplace_back("--inlines");
  if (params.choice("by", "time", "instructions")) words.emplace_back("--by=instructions");
  const uint64_t limit = params.number("limit", 0, UINT64_MAX / 2, 0);
  if (limit > 0) words.insert(words.end(), {"--limit", std::to_string(limit)});
  const uint64_t tid = params.number("tid", 1, kMostTid, 0);
  if (tid > 0) words.insert(words.end(), {"--tid", std::to_string(tid)});
  if (auto from = add_pattern(params, "from", words); !from) return from;
  return add_pattern(params, "to", words);
}

// In the words of this face; fathom-worker would say it in those of a command line.
Result<> check_stretch(std::string_view verb, const std::vector<std::string>& words) {
  auto gives = [&](std::string_view key) {
    return std::ranges::any_of(words, [&](const std::string& word) {
      return word.starts_with("--" + std::string(key) + "=") && word.size() > key.size() + 3;
    });
  };
  if (verb != "delta" || (gives("from") && gives("to"))) return {};
  return invalid(
      "delta wants 'from' and 'to', patterns that say where a stretch begins and where it ends: an instruction "
      "(cli), a group (superCLI), a function, FILE:LINE or an address");
}

Routed question_route(Params& params, const VerbName& verb, SnapshotQuestion question) {
  question.words = {std::string(verb.verb), question.id.hex()};
  if (question.other) question.words.insert(question.words.end(), {"--other", question.other->hex()});
  bool svg = false;
  if (auto added = add_parameters(params, question.words, svg); !added) return added.error();
  if (auto checked = check_stretch(verb.verb, question.words); !checked) return checked.error();
  return RoutedQuery{
      .name = verb.query,
      .content_type = svg ? "image/svg+xml" : "application/json",
      .work = [question](const Stores& stores, QueryBudget& budget) { return run_question(stores, question, budget); },
      .lane = Lane::kWorkers};
}

// "VERB", or "diff/OTHER", behind an id.
std::optional<Routed> verb_route(const SnapshotId& id, std::string_view tail, Params& params) {
  if (auto view = view_route(id, tail, params)) return *std::move(view);
  const size_t slash = tail.find('/');
  const auto* verb = std::ranges::find(kVerbs, tail.substr(0, slash), &VerbName::verb);
  if (verb == kVerbs.end() || (verb->verb == "diff") != (slash != std::string_view::npos)) return std::nullopt;
  SnapshotQuestion question{.id = id, .other = std::nullopt, .words = {}};
  if (slash != std::string_view::npos) {
    auto other = snapshot_id(tail.substr(slash + 1));
    if (!other) return other.error();
    question.other = *other;
  }
  return question_route(params, *verb, std::move(question));
}

std::optional<Routed> one_route(std::string_view rest, Params& params) {
  const size_t slash = rest.find('/');
  auto id = snapshot_id(rest.substr(0, slash));
  if (!id) return id.error();
  if (slash != std::string_view::npos) return verb_route(*id, rest.substr(slash + 1), params);
  return RoutedQuery{.name = "snapshot", .work = [id = *id](const Stores& stores, QueryBudget& budget) {
                       return run_snapshot(stores, id, budget);
                     }};
}

template <typename SomeId>
Result<ContentName> content_name(std::string_view text, bool is_image) {
  auto id = SomeId::from_hex_text(text);
  if (id) return ContentName{.is_image = is_image, .hex = id->hex()};
  if (is_image) return invalid("an image is named by its SHA-256, 64 hexadecimal digits");
  return invalid("a snapshot id is 32 hexadecimal digits");
}

}  // namespace

std::optional<Result<ContentName>> content_of_path(std::string_view path) {
  if (!path.ends_with(kBytesTail)) return std::nullopt;
  path.remove_suffix(kBytesTail.size());
  if (path.starts_with(kSnapshot)) return content_name<SnapshotId>(path.substr(kSnapshot.size()), false);
  if (path.starts_with(kImage)) return content_name<Sha256>(path.substr(kImage.size()), true);
  return std::nullopt;
}

std::optional<Result<RoutedQuery>> snapshot_route(std::string_view path, Params& params) {
  if (path == kSnapshots) return list_route(params);
  if (auto name = content_of_path(path)) return *name ? bytes_route(params, **name) : Routed(name->error());
  if (path.starts_with(kSnapshot)) return one_route(path.substr(kSnapshot.size()), params);
  return std::nullopt;
}

}  // namespace fathom::query
