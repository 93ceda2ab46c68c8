#include "query/attribute_values.h"

#include <algorithm>
#include <map>
#include <span>

namespace fathom::query {

namespace {

constexpr store::SampleLimits kSampleLimits{.shown = 5000};

class Values {
 public:
  Values(const std::string& key, store::QueryBudget& budget) : key_(key), memory_(budget.hold()) {}

  // Of what could not be kept within the budget.
  const std::optional<Error>& fault() const { return memory_.fault(); }

  void add(const store::StoredSpan& stored) {
    const std::optional<std::string> own = find(stored.span.attributes);
    const std::optional<std::string> resource = find(stored.resource.attributes);
    if (own) count(*own);
    if (resource && resource != own) count(*resource);
  }

  std::vector<store::ValueCount> most_frequent(const std::string& containing, size_t limit) const {
    std::vector<store::ValueCount> values;
    for (const auto& [value, spans] : counts_) {
      if (store::contains_folded(value, containing)) values.push_back({value, spans});
    }
    std::stable_sort(values.begin(), values.end(),
                     [](const store::ValueCount& a, const store::ValueCount& b) { return a.spans > b.spans; });
    if (values.size() > limit) values.resize(limit);
    return values;
  }

 private:
  // Kept once here, and once in the answer.
  void count(const std::string& value) {
    constexpr uint64_t kBesideText = 256;
    const auto known = counts_.find(value);
    if (known != counts_.end()) {
      ++known->second;
    } else if (memory_.grow(2 * value.size() + kBesideText)) {
      counts_.emplace(value, 1);
    }
  }

  // As conditions are written; one that was cut is none that could be asked for.
  std::optional<std::string> find(std::span<const store::AttributeView> attributes) const {
    const auto found = std::find_if(attributes.begin(), attributes.end(),
                                    [&](const store::AttributeView& attribute) { return attribute.key == key_; });
    if (found == attributes.end() || found->value.type == store::ValueType::kCut) return std::nullopt;
    if (found->value.type == store::ValueType::kString) return std::string(found->value.text);
    return store::value_text(found->value);
  }

  const std::string& key_;
  std::map<std::string, uint64_t> counts_;
  store::HeldMemory memory_;
};

}  // namespace

Result<ValuesAnswer> run_values(store::SpanStore& store, const ValuesQuery& query, store::QueryBudget& budget) {
  if (!query.service) {
    auto counted = store.attribute_values(query.range, query.key, query.prefix, query.limit, budget);
    if (!counted) return counted.error();
    return ValuesAnswer{*std::move(counted), false};
  }
  Values values(query.key, budget);
  auto shown = store.sample(
      {.range = query.range, .service = query.service}, kSampleLimits,
      [&](const store::StoredSpan& stored) { values.add(stored); }, budget);
  if (!shown) return shown.error();
  if (values.fault()) return *values.fault();
  return ValuesAnswer{values.most_frequent(query.prefix, query.limit), shown->shown < shown->spans};
}

}  // namespace fathom::query
