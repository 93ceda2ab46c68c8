// Random programs, cut into parts at random places: the same tree as one naive pass finds.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "base/testing/repetitions.h"
#include "snapshot/decode/call_stack.h"
#include "snapshot/decode/testing/call_text.h"
#include "snapshot/decode/testing/naive_calls.h"
#include "snapshot/decode/testing/random_program.h"

namespace fathom::snapshot {
namespace {

std::string naive_tree(const RandomCode& code, const std::vector<FlowItem>& items) {
  NaiveCalls calls(code.extents);
  for (uint64_t stub : code.stubs) calls.stub_places_[hex_text(stub)] = true;
  calls.in(1000);
  for (const FlowItem& item : items) calls.take(item);
  return calls.finish();
}

std::string whole_tree(const RandomCode& code, const std::vector<FlowItem>& items) {
  CallFunctions functions(code.extents);
  CallFunctionCache cache(functions);
  CallMachine machine(cache, 7, true, nullptr, nullptr);
  machine.switch_in(1000);
  EXPECT_EQ(machine.take(items), items.size());
  machine.finish();
  return tree_text(machine.tree());
}

// In parts, handed over in random batches. `places`: where parts begin.
std::string parted_tree(const RandomCode& code, const std::vector<FlowItem>& items, const std::vector<size_t>& places,
                        std::mt19937_64& random) {
  CallStacks stacks(Snapshot{}, code.extents, {});
  for (size_t i = 0; i + 1 < places.size(); ++i) {
    auto part = stacks.part(0);
    uint64_t tsc = places[i] == 0 ? 1000 : items[places[i] - 1].tsc;
    std::vector<FlowItem> own{thread_item(7, 8, tsc)};
    own.insert(own.end(), items.begin() + static_cast<ptrdiff_t>(places[i]),
               items.begin() + static_cast<ptrdiff_t>(places[i + 1]));
    for (size_t at = 0; at < own.size();) {
      const size_t size = std::min<size_t>(1 + random() % 40, own.size() - at);
      part->take(std::span(own).subspan(at, size));
      at += size;
    }
    stacks.merge(std::move(part));
  }
  stacks.finish();
  auto threads = stacks.threads();
  return threads.empty() ? "" : tree_text(*threads.front().tree);
}

std::vector<size_t> random_places(size_t size, size_t cuts, std::mt19937_64& random) {
  std::vector<size_t> places{0, size};
  for (size_t i = 0; i < cuts; ++i) places.push_back(random() % size);
  std::ranges::sort(places);
  return places;
}

// The shortest beginning that shows a difference.
void expect_agreement(const RandomCode& code, const std::vector<FlowItem>& items, const std::vector<size_t>& places,
                      std::mt19937_64& random) {
  if (parted_tree(code, items, places, random) == naive_tree(code, items)) return;
  std::string list;
  for (size_t size = 1; size <= items.size(); ++size) {
    std::vector<size_t> some_places = places;
    for (size_t& place : some_places) place = std::min(place, size);
    if (std::ranges::find(places, size - 1) != places.end()) list += "part\n";
    const FlowItem& item = items[size - 1];
    list += std::to_string(static_cast<int>(item.kind)) + " end " + std::to_string(static_cast<int>(item.end)) + " " +
            hex_text(item.ip) + " " + hex_text(item.to) + " @" + std::to_string(item.tsc) + "\n";
    const std::vector<FlowItem> some(items.begin(), items.begin() + static_cast<ptrdiff_t>(size));
    ASSERT_EQ(whole_tree(code, some), naive_tree(code, some)) << list;
    ASSERT_EQ(parted_tree(code, some, some_places, random), naive_tree(code, some)) << list;
  }
}

TEST(CallStacksModel, PartsAndOnePassAgree) {
  const RandomCode code;
  const char* given = std::getenv("FATHOM_SEED");
  const uint64_t first = given != nullptr ? std::strtoull(given, nullptr, 10) : 1;
  const uint64_t last = given != nullptr ? first : repetitions(400);
  for (uint64_t seed = first; seed <= last; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    auto items = RandomProgram(code, seed).run(20 + random() % 400);
    for (size_t cuts : {0, 1, 2, 5, 50}) {
      expect_agreement(code, items, random_places(items.size(), cuts, random), random);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace fathom::snapshot
