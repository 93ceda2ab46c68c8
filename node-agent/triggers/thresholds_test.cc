#include "node-agent/triggers/thresholds.h"

#include <gtest/gtest.h>

namespace fathom::agent {
namespace {

uint64_t threshold(const Thresholds& table, std::string_view service, std::string_view name, uint8_t kind = 2) {
  return table.of("shop", service).of(operation_hash(kind, name, name.size()));
}

TEST(Thresholds, AreByServiceNameAndKind) {
  ThresholdBook book(kNever);
  auto table = book.take({{"shop", "cart", "GET /", 2, 100}, {"shop", "cart", "GET /slow", 2, 900}}, true);
  EXPECT_EQ(threshold(*table, "cart", "GET /"), 100u);
  EXPECT_EQ(threshold(*table, "cart", "GET /slow"), 900u);
  EXPECT_EQ(threshold(*table, "cart", "GET /", 3), kNever);
  EXPECT_EQ(threshold(*table, "other", "GET /"), kNever);
  EXPECT_EQ(table->of("", "cart").smallest_nano(), kNever);
  EXPECT_EQ(table->of("shop", "cart").smallest_nano(), 100u);
}

TEST(Thresholds, OthersHaveWhatIsSaidForAll) {
  ThresholdBook book(500);
  auto table = book.take({{"shop", "cart", "GET /", 2, 900}}, true);
  EXPECT_EQ(threshold(*table, "cart", "GET /"), 900u);
  EXPECT_EQ(threshold(*table, "cart", "else"), 500u);
  EXPECT_EQ(threshold(*table, "other", "GET /"), 500u);
  EXPECT_EQ(table->of("shop", "cart").smallest_nano(), 500u);
}

TEST(Thresholds, AreAddedReplacedAndTakenBack) {
  ThresholdBook book(kNever);
  auto first = book.take({{"shop", "cart", "a", 2, 100}}, true);
  auto second = book.take({{"shop", "cart", "b", 2, 200}, {"shop", "cart", "a", 2, 150}}, false);
  EXPECT_EQ(threshold(*second, "cart", "a"), 150u);
  EXPECT_EQ(threshold(*second, "cart", "b"), 200u);
  EXPECT_EQ(threshold(*first, "cart", "a"), 100u) << "a table does not change";
  auto third = book.take({{"shop", "cart", "a", 2, 0}}, false);
  EXPECT_EQ(threshold(*third, "cart", "a"), kNever);
  EXPECT_EQ(threshold(*third, "cart", "b"), 200u);
  auto fourth = book.take({}, true);
  EXPECT_EQ(threshold(*fourth, "cart", "b"), kNever);
}

TEST(Thresholds, LongNamesThatBeginAlikeShareTheLargerOne) {
  std::string begin(88, 'x');
  ThresholdBook book(kNever);
  auto table = book.take({{"shop", "cart", begin + "a", 2, 100}, {"shop", "cart", begin + "b", 2, 300}}, true);
  EXPECT_EQ(table->of("shop", "cart").of(operation_hash(2, begin, 89)), 300u);
  EXPECT_EQ(table->of("shop", "cart").of(operation_hash(2, begin, 88)), kNever);
}

TEST(Thresholds, TheirNumberIsBounded) {
  ThresholdBook book(kNever);
  std::vector<OperationThreshold> many;
  for (size_t i = 0; i < ThresholdBook::kMostOperations + 10; ++i)
    many.push_back({"", "s", "op" + std::to_string(i), 1, 5});
  book.take(many, true);
  EXPECT_EQ(book.size(), ThresholdBook::kMostOperations);
  many.resize(1);
  many[0].threshold_nano = 7;
  auto table = book.take(many, false);
  EXPECT_EQ(table->of("", "s").of(operation_hash(1, "op0", 3)), 7u) << "one that is known may change";
}

}  // namespace
}  // namespace fathom::agent
