#include "query/trait_tally.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <tuple>

#include "base/hash.h"

namespace fathom::query {

namespace {

constexpr size_t kLongestValue = 256;     // bytes; longer ones are texts of their own, not values to compare
constexpr size_t kMostTraits = 200'000;   // of one comparison
constexpr size_t kMostNumbers = 2'000;    // keys with numbers, likewise
constexpr double kLeastSurprise = 15.14;  // chance gives as much to one value in 10,000

// The spans of a trace are not independent: what is of one or two traces alone, as an id, is no difference.
constexpr int kLeastTraces = 3;

constexpr uint64_t kAllocationsOfTrait = 160;  // what the allocator adds
constexpr uint64_t kNumberBytes = 32;          // in a list that grows

constexpr char kSeparator = '\0';

uint64_t mixed(uint64_t number) {
  number = (number + 0x9e3779b97f4a7c15ULL) * 0xbf58476d1ce4e5b9ULL;
  return (number ^ number >> 31) * 0x94d049bb133111ebULL;
}

void name_trait(const TraitView& trait, std::string& name) {
  name.assign(1, static_cast<char>(trait.of));
  for (std::string_view part : {trait.service, trait.operation, trait.key}) name.append(part).append(1, kSeparator);
}

bool absent_is_zero(TraitOf of) {
  return of == TraitOf::kCalls || of == TraitOf::kSelfTime;
}

// What members are parted by is as frequent as it is, not among its like.
bool parts_strata(TraitOf of) {
  return of == TraitOf::kOperation || of == TraitOf::kService;
}

bool comes_before(const Difference& a, const Difference& b) {
  if (a.shares.surprise != b.shares.surprise) return a.shares.surprise > b.shares.surprise;
  auto order = [](const Trait& trait) {
    return std::tie(trait.of, trait.service, trait.operation, trait.key, trait.is, trait.value);
  };
  return order(a.trait) < order(b.trait);
}

// Where the time went says more than what else all of these have.
int rank_beside(const Trait& trait) {
  if (trait.of == TraitOf::kSelfTime) return 0;
  return trait.of == TraitOf::kError ? 1 : 2;
}

// The answer as it grows, the most surprising first.
class Answer {
 public:
  void add(Difference difference, uint64_t fingerprint) {
    std::string key = question_of(difference.trait);
    // A bound says what the values within it say, and the other way round.
    auto [how, is_new_key] = told_.try_emplace(key, difference.trait.is);
    if (how->second != difference.trait.is) return;
    auto [place, is_new] = places_.try_emplace(fingerprint, all_.size());
    // The hosts of a version are some values, too, but not what one looks for.
    if (!is_new && difference.trait.is == TraitIs::kOneOf) return;
    if (is_new) {
      all_.push_back(std::move(difference));
    } else {
      all_[place->second].also.push_back(std::move(difference.trait));
    }
  }

  std::vector<Difference> take(size_t limit) {
    if (all_.size() > limit) all_.resize(limit);
    for (Difference& one : all_) std::ranges::stable_sort(one.also, {}, rank_beside);
    return std::move(all_);
  }

 private:
  std::vector<Difference> all_;
  std::unordered_map<uint64_t, size_t> places_;  // of the first that has these members
  std::unordered_map<std::string, TraitIs> told_;
};

}  // namespace

std::string question_of(const Trait& trait) {
  std::string name;
  name_trait({.of = trait.of, .service = trait.service, .operation = trait.operation, .key = trait.key}, name);
  return name;
}

void TraitTally::begin(bool is_selected, std::string_view stratum, const TraceId& trace_id) {
  memory_bytes_ += 2 * sizeof(Member);
  members_.push_back({.is_selected = is_selected,
                      .stratum = strata_.add(stratum, is_selected),
                      .hash = mixed(members_.size() + 1),
                      .trace_bit = uint64_t{1} << (hash64(trace_id.view()) & 63)});
}

void TraitTally::have(const TraitView& trait) {
  if (trait.value.size() > kLongestValue || trait.key.find(kSeparator) != std::string_view::npos) return;
  name_trait(trait, name_);
  name_.append(trait.value);
  auto found = counts_.find(name_);
  if (found == counts_.end()) {
    if (!members_.back().is_selected || counts_.size() >= kMostTraits) return;
    found = counts_.emplace(name_, Count{.trait = Trait(trait)}).first;
    memory_bytes_ += sizeof(*found) + 2 * name_.size() + kAllocationsOfTrait;
  }
  count(found->second, static_cast<uint32_t>(members_.size() - 1));
}

// A member that says it twice has it once.
void TraitTally::count(Count& count, uint32_t member) const {
  if (count.last_member == member) return;
  count.last_member = member;
  const Member& one = members_[member];
  count.sides.add(one.is_selected);
  auto place = std::find_if(count.strata.begin(), count.strata.end(),
                            [&](const StratumSides& sides) { return sides.stratum == one.stratum; });
  if (place == count.strata.end()) place = count.strata.insert(place, {one.stratum, {}});
  place->sides.add(one.is_selected);
  count.fingerprint ^= one.hash;
  if (one.is_selected) count.traces |= one.trace_bit;
}

void TraitTally::have_number(const TraitView& trait, double value, bool is_whole) {
  name_trait(trait, name_);
  auto found = numbers_.find(name_);
  if (found == numbers_.end()) {
    if (!members_.back().is_selected || numbers_.size() >= kMostNumbers) return;
    found = numbers_.emplace(name_, Numbers{.trait = Trait(trait), .tally = {}}).first;
    memory_bytes_ += sizeof(*found) + 2 * name_.size() + kAllocationsOfTrait;
  }
  memory_bytes_ += kNumberBytes;
  found->second.tally.add(static_cast<uint32_t>(members_.size() - 1), value, is_whole);
}

Shares TraitTally::compare(const Count& count) const {
  return parts_strata(count.trait.of) ? strata_.compare_all(count.sides) : strata_.compare_alike(count.strata);
}

// So that of as many traits as there are chance gives one in ten answers one.
double TraitTally::least_surprise() const {
  auto traits = static_cast<double>(counts_.size() + numbers_.size() + 1);
  return std::max(kLeastSurprise, 2 * std::log(10 * traits) - 3.2);
}

void TraitTally::judge(const Count& count, double penalty, std::vector<Found>& found) const {
  if (std::popcount(count.traces) < kLeastTraces) return;
  Shares shares = compare(count);
  shares.surprise -= penalty;
  if (shares.surprise >= least_surprise()) found.push_back({{count.trait, count.sides, shares, {}}, count.fingerprint});
}

void TraitTally::judge(const Numbers& numbers, std::vector<Found>& found) const {
  std::optional<Bound> bound = numbers.tally.best_bound(members_, absent_is_zero(numbers.trait.of));
  if (!bound) return;
  Count count{.trait = numbers.trait};
  count.trait.is = bound->is;
  count.trait.value = numbers.tally.text(bound->value);
  for (uint32_t member : numbers.tally.within(*bound)) this->count(count, member);
  judge(count, bound->penalty, found);
}

std::vector<Difference> TraitTally::differences(size_t limit) const {
  std::vector<Found> found;
  for (const auto& [name, count] : counts_) judge(count, 0, found);
  for (const auto& [name, numbers] : numbers_) judge(numbers, found);
  judge_groups(found);
  std::sort(found.begin(), found.end(),
            [](const Found& a, const Found& b) { return comes_before(a.difference, b.difference); });
  Answer answer;
  for (auto& [difference, fingerprint] : found) answer.add(std::move(difference), fingerprint);
  return answer.take(limit);
}

}  // namespace fathom::query
