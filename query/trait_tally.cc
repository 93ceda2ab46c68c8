#include "query/trait_tally.h"

#include <algorithm>
#include <bit>
#include <tuple>

#include "base/hash.h"

namespace fathom::query {

namespace {

constexpr size_t kLongestValue = 256;     // bytes; longer ones are texts of their own, not values to compare
constexpr size_t kMostTraits = 200'000;   // of one comparison
constexpr double kLeastSurprise = 15.14;  // chance gives as much to one value in 10,000

// The spans of a trace are not independent: what is of one or two traces alone, as an id, is no difference.
constexpr int kLeastTraces = 3;

constexpr char kSeparator = '\0';

uint64_t mixed(uint64_t number) {
  number = (number + 0x9e3779b97f4a7c15ULL) * 0xbf58476d1ce4e5b9ULL;
  return (number ^ number >> 31) * 0x94d049bb133111ebULL;
}

Trait parse_trait(const std::string& name) {
  size_t end = name.find(kSeparator, 1);
  return {static_cast<TraitOf>(name[0]), name.substr(1, end - 1), name.substr(end + 1)};
}

// Keys that say no more than what is counted already.
bool is_told_otherwise(TraitOf of, std::string_view key) {
  return of == TraitOf::kResource && (key == "service.name" || key == "service.namespace");
}

bool comes_before(const Difference& a, const Difference& b) {
  if (a.surprise != b.surprise) return a.surprise > b.surprise;
  if (a.trait.of != b.trait.of) return a.trait.of < b.trait.of;
  return std::tie(a.trait.key, a.trait.value) < std::tie(b.trait.key, b.trait.value);
}

}  // namespace

void TraitTally::add(const store::StoredSpan& stored, bool is_selected) {
  ++(is_selected ? selected_ : others_);
  span_hash_ = mixed(selected_ + others_);
  trace_bit_ = uint64_t{1} << (hash64(stored.span.trace_id.view()) & 63);
  count(TraitOf::kOperation, "", stored.operation, is_selected);
  count(TraitOf::kService, "", stored.service, is_selected);
  count(TraitOf::kStatus, "", store::status_code_name(stored.span.status), is_selected);
  add_attributes(TraitOf::kAttribute, stored.span.attributes, is_selected);
  add_attributes(TraitOf::kResource, stored.resource.attributes, is_selected);
}

void TraitTally::add_attributes(TraitOf of, std::span<const store::AttributeView> attributes, bool is_selected) {
  for (const store::AttributeView& attribute : attributes) {
    const store::ValueView& value = attribute.value;
    if (value.type == store::ValueType::kCut || is_told_otherwise(of, attribute.key)) continue;
    if (value.type == store::ValueType::kString) {
      count(of, attribute.key, value.text, is_selected);
    } else {
      count(of, attribute.key, store::value_text(value), is_selected);
    }
  }
}

void TraitTally::count(TraitOf of, std::string_view key, std::string_view value, bool is_selected) {
  if (value.size() > kLongestValue || key.find(kSeparator) != std::string_view::npos) return;
  name_.assign(1, static_cast<char>(of)).append(key).append(1, kSeparator).append(value);
  auto found = counts_.find(name_);
  if (found == counts_.end()) {
    if (!is_selected || counts_.size() >= kMostTraits) return;
    found = counts_.emplace(name_, Count{}).first;
  }
  Count& count = found->second;
  if (count.last_span == selected_ + others_) return;  // a span that says it twice has it once
  count.last_span = selected_ + others_;
  ++(is_selected ? count.selected : count.others);
  count.fingerprint ^= span_hash_;
  if (is_selected) count.traces |= trace_bit_;
}

std::vector<Difference> TraitTally::differences(size_t limit) const {
  std::vector<std::pair<Difference, uint64_t>> found;  // and its fingerprint
  for (const auto& [name, count] : counts_) {
    if (std::popcount(count.traces) < kLeastTraces) continue;
    double measure = surprise(count.selected, selected_, count.others, others_);
    if (measure < kLeastSurprise) continue;
    found.push_back({{parse_trait(name), count.selected, count.others, measure, {}}, count.fingerprint});
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return comes_before(a.first, b.first); });
  std::vector<Difference> answer;
  std::unordered_map<uint64_t, size_t> places;
  for (auto& [difference, fingerprint] : found) {
    auto [place, is_new] = places.try_emplace(fingerprint, answer.size());
    if (is_new) {
      answer.push_back(std::move(difference));
    } else {
      answer[place->second].also.push_back(std::move(difference.trait));
    }
  }
  if (answer.size() > limit) answer.resize(limit);
  return answer;
}

}  // namespace fathom::query
