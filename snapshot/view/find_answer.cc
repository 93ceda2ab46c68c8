#include <algorithm>

#include "snapshot/analyze/code_extents.h"
#include "snapshot/view/view_answers.h"

namespace fathom::snapshot {

namespace {

// In any case, as far as ASCII goes.
bool holds(std::string_view text, std::string_view part) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::search(text.begin(), text.end(), part.begin(), part.end(),
                     [&](char a, char b) { return lower(a) == lower(b); }) != text.end();
}

struct FoundCall {
  const Call* call = nullptr;
  size_t depth = 0;
};

// The call of such a function that begins nearest behind a row, or before it.
class CallFinder {
 public:
  CallFinder(const CodeNames& names, const CallIndex& calls, std::string_view function)
      : names_(names), calls_(calls), function_(function), known_(calls.functions(), 0) {}

  FoundCall find(uint64_t row, bool backwards) {
    FoundCall best;
    for (size_t depth = 0; depth < calls_.depths(); ++depth) {
      const Call* found = backwards ? last_before(calls_.depth(depth), row, best.call)
                                    : first_behind(calls_.depth(depth), row, best.call);
      if (found != nullptr) best = {found, depth};
    }
    return best;
  }

 private:
  const Call* first_behind(const std::vector<Call>& calls, uint64_t row, const Call* best) {
    auto at = std::ranges::partition_point(calls, [&](const Call& call) { return call.first_row <= row; });
    for (; at != calls.end() && (best == nullptr || at->first_row < best->first_row); ++at) {
      if (matches(at->function)) return &*at;
    }
    return nullptr;
  }
  const Call* last_before(const std::vector<Call>& calls, uint64_t row, const Call* best) {
    auto at = std::ranges::partition_point(calls, [&](const Call& call) { return call.first_row < row; });
    while (at != calls.begin() && (best == nullptr || (at - 1)->first_row > best->first_row)) {
      --at;
      if (matches(at->function)) return &*at;
    }
    return nullptr;
  }
  bool matches(uint32_t function) {
    enum : uint8_t { kUnknown, kNo, kYes };
    uint8_t& known = known_[function];
    if (known == kUnknown) {
      known = holds(function_name(names_, calls_.function(function)), function_) ? kYes : kNo;
    }
    return known == kYes;
  }

  const CodeNames& names_;
  const CallIndex& calls_;
  const std::string_view function_;
  std::vector<uint8_t> known_;
};

// The instruction of such a text that is nearest behind a row, or before it.
class TextFinder {
 public:
  TextFinder(SnapshotView& view, const ThreadView& thread, std::string_view text)
      : view_(view), flow_(thread.flow()), text_(text), first_match_(view.blocks().size(), kUnknown) {
    view.decoder().run(thread.pid());
  }

  std::optional<uint64_t> behind(uint64_t row) {
    for (PackedFlow::Cursor at = flow_.at_row(row + 1); !at.ended(); at.next()) {
      if (first_match(at) == kNone) continue;
      const uint64_t from = at.row() > row ? 0 : row + 1 - at.row();
      if (const auto found = match(at, from)) return found;
    }
    return std::nullopt;
  }
  // Time goes one way in a flow: the last block that has one is remembered.
  std::optional<uint64_t> before(uint64_t row) {
    std::optional<PackedFlow::Cursor> best;
    for (PackedFlow::Cursor at = flow_.begin(); !at.ended() && at.row() < row; at.next()) {
      const uint32_t first = first_match(at);
      if (first != kNone && at.row() + first < row) best = at;
    }
    std::optional<uint64_t> last;
    if (!best) return last;
    for (auto found = match(*best, 0); found && *found < row; found = match(*best, *last - best->row() + 1))
      last = found;
    return last;
  }

 private:
  static constexpr uint32_t kUnknown = UINT32_MAX, kNone = UINT32_MAX - 1;

  uint32_t first_match(const PackedFlow::Cursor& at) {
    uint32_t& first = first_match_[at.block()];
    if (first != kUnknown) return first;
    const auto found = match(at, 0);
    return first = found ? static_cast<uint32_t>(*found - at.row()) : kNone;
  }
  std::optional<uint64_t> match(const PackedFlow::Cursor& at, uint64_t from) {
    const FlowItem item = at.item();
    if (item.kind != FlowKind::kBlock) return std::nullopt;
    const DecodedBlock& block = view_.decoder().block(item);
    for (uint64_t i = from; i < std::min<uint64_t>(block.instructions.size(), item.count); ++i) {
      if (holds(block.instructions[i].text, text_)) return at.row() + i;
    }
    return std::nullopt;
  }

  SnapshotView& view_;
  const PackedFlow& flow_;
  const std::string_view text_;
  std::vector<uint32_t> first_match_;  // by block
};

}  // namespace

Result<std::string> find_answer(SnapshotView& view, const ViewAsk& ask) {
  const ThreadView& thread = *view.threads()[ask.thread];
  if (auto there = check_row(thread, ask.row); !there) return there.error();
  FunctionList functions(view.context().names());
  std::string out;
  net::JsonWriter json(out);
  begin_answer(json, thread, ask);
  std::optional<uint64_t> row;
  if (!ask.function.empty()) {
    CallFinder finder(view.context().names(), thread.calls(), ask.function);
    if (const FoundCall found = finder.find(ask.row, ask.backwards); found.call != nullptr) {
      row = found.call->first_row;
      json.key("call");
      write_call(json, thread, thread.axis(ViewAxis::kTime), *found.call, found.depth, functions);
      json.end_object();
    }
  } else {
    TextFinder finder(view, thread, ask.text);
    row = ask.backwards ? finder.before(ask.row) : finder.behind(ask.row);
  }
  if (row) json.member("row", *row).member("offset", thread.row_offset(*row));
  functions.write(json);
  json.end_object();
  return out + "\n";
}

}  // namespace fathom::snapshot
