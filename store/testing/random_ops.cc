#include "store/testing/random_ops.h"

#include <algorithm>

namespace fathom::store::testing {

namespace {

constexpr size_t kShorteningRuns = 200;

struct Difference {
  size_t at = 0;
  std::string expected;
  std::string actual;
};

class Comparison {
 public:
  Comparison(const StoreFactory& expected, const StoreFactory& actual, const HarnessOptions& options)
      : expected_(expected), actual_(actual), options_(options) {}

  // The first operation whose answers differ.
  std::optional<Difference> run(const std::vector<Operation>& operations) const {
    Session expected{expected_.make(options_), {}};
    Session actual{actual_.make(options_), {}};
    for (size_t i = 0; i < operations.size(); ++i) {
      std::string a = operations[i].run(expected);
      std::string b = operations[i].run(actual);
      if (a != b) return Difference{i, a, b};
    }
    return std::nullopt;
  }

  // Leaves out whatever is not needed for a difference: halves first, then quarters, down to single operations.
  void shorten(std::vector<Operation>& failing, Difference& difference) const {
    size_t runs = 0;
    failing.resize(difference.at + 1);
    for (size_t length = failing.size() / 2; length > 0; length /= 2) {
      for (size_t from = 0; from + length < failing.size() && runs < kShorteningRuns; ++runs) {
        if (!try_without(failing, from, length, difference)) from += length;
      }
    }
  }

 private:
  bool try_without(std::vector<Operation>& failing, size_t from, size_t length, Difference& difference) const {
    std::vector<Operation> fewer = failing;
    auto first = fewer.begin() + static_cast<ptrdiff_t>(from);
    fewer.erase(first, first + static_cast<ptrdiff_t>(length));
    std::optional<Difference> found = run(fewer);
    if (!found) return false;
    fewer.resize(found->at + 1);
    failing = std::move(fewer);
    difference = std::move(*found);
    return true;
  }

  const StoreFactory& expected_;
  const StoreFactory& actual_;
  const HarnessOptions options_;
};

std::string report(uint64_t seed, const std::vector<Operation>& operations, const Difference& difference) {
  std::string out = "seed " + std::to_string(seed) + ", shortened:\n";
  for (size_t i = 0; i < operations.size(); ++i) out += std::to_string(i) + ". " + operations[i].text + "\n";
  return out + "expected:\n" + difference.expected + "\nactual:\n" + difference.actual + "\n";
}

}  // namespace

std::optional<std::string> compare_stores(const StoreFactory& expected, const StoreFactory& actual, uint64_t seed,
                                          size_t count) {
  std::vector<Operation> operations = random_operations(seed, count);
  Comparison comparison(expected, actual, random_harness(seed));
  std::optional<Difference> difference = comparison.run(operations);
  if (!difference) return std::nullopt;
  size_t prefix = difference->at + 1;
  comparison.shorten(operations, *difference);
  return "after " + std::to_string(prefix) + " operations, " + report(seed, operations, *difference);
}

}  // namespace fathom::store::testing
