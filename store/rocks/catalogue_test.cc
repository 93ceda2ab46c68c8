// The catalogue by itself: limits count what is in use, numbers are never used twice, and what is retired is given
// back.
#include "store/rocks/catalogue.h"

#include <gtest/gtest.h>

namespace fathom::store {
namespace {

bool is_current(const Result<bool>& restored) {
  EXPECT_TRUE(restored.ok()) << restored.error().message;
  return restored.ok() && *restored;
}

class CatalogueTest : public ::testing::Test {
 protected:
  Catalogue::Number intern(const std::string& service, const std::string& name) {
    return catalogue_.intern("shop", service, name, SpanKind::kServer, hold_);
  }
  // As if a batch had been stored.
  Catalogue::Number use(const std::string& service, const std::string& name, uint32_t partition) {
    Catalogue::Hold hold;
    Catalogue::Number number = catalogue_.intern("shop", service, name, SpanKind::kServer, hold);
    hold.used_in(partition);
    return number;
  }
  std::string limit(const Catalogue::Number& number) { return number.limit == nullptr ? "" : number.limit; }

  Catalogue catalogue_{{.operations_per_service = 2, .services = 2, .bytes = 4200}};
  Catalogue::Hold hold_;
};

TEST_F(CatalogueTest, WhatIsKnownHasItsNumberAndItsNames) {
  uint32_t a = intern("cart", "a").id;
  EXPECT_EQ(intern("cart", "a").id, a);
  EXPECT_NE(intern("cart", "b").id, a);
  EXPECT_EQ(catalogue_.operation(a), (OperationKey{"shop", "cart", "a", SpanKind::kServer}));
  EXPECT_EQ(catalogue_.operations("cart", std::nullopt).size(), 2u);
  EXPECT_EQ(catalogue_.services_named("cart"), std::vector<uint32_t>{catalogue_.service_of(a)});
  EXPECT_EQ(catalogue_.operation(77).service, "unknown_service");
}

TEST_F(CatalogueTest, EveryUseBeyondALimitNamesIt) {
  intern("cart", "a");
  intern("cart", "b");
  Catalogue::Number other = intern("cart", "c");
  EXPECT_EQ(limit(other), "operations_per_service");
  EXPECT_EQ(limit(intern("cart", "c")), "operations_per_service");
  EXPECT_EQ(catalogue_.operation(other.id), (OperationKey{"shop", "cart", "__other__", SpanKind::kUnspecified}));
  EXPECT_EQ(limit(intern("stock", "a")), "");
  Catalogue::Number nobody = intern("third", "a");
  EXPECT_EQ(limit(nobody), "services");
  EXPECT_EQ(catalogue_.operation(nobody.id), (OperationKey{"", "__other__", "__other__", SpanKind::kUnspecified}));
}

TEST_F(CatalogueTest, NamesBeyondTheBytesAreOther) {
  EXPECT_EQ(limit(intern("cart", std::string(3000, 'x'))), "");
  Catalogue::Number other = intern("cart", std::string(1000, 'y'));
  EXPECT_EQ(limit(other), "catalogue_bytes");
  EXPECT_EQ(catalogue_.operation(other.id).service, "cart");
  EXPECT_EQ(catalogue_.operation(other.id).operation, "__other__");
  EXPECT_EQ(limit(intern(std::string(1000, 's'), "a")), "catalogue_bytes");
  EXPECT_EQ(limit(intern("cart", "b")), "");
  EXPECT_LT(catalogue_.bytes(), 4500u);
}

TEST_F(CatalogueTest, LimitsMayBeSetAnew) {
  const uint32_t first = intern("cart", "a").id;
  intern("cart", "b");
  EXPECT_EQ(limit(intern("cart", "c")), "operations_per_service");
  catalogue_.set_limits({.operations_per_service = 3, .services = 1, .bytes = 4200});
  EXPECT_EQ(limit(intern("cart", "c")), "");
  EXPECT_EQ(limit(intern("cart", "d")), "operations_per_service");
  EXPECT_EQ(limit(intern("stock", "a")), "services");
  catalogue_.set_limits({.operations_per_service = 1, .services = 2, .bytes = 1});
  EXPECT_EQ(intern("cart", "a").id, first) << "what is known stays so";
  EXPECT_EQ(limit(intern("cart", "c")), "");
  EXPECT_EQ(limit(intern("stock", "a")), "catalogue_bytes");
}

TEST_F(CatalogueTest, OnlyWhatLivePartitionsUseCounts) {
  use("cart", "a", 1);
  use("cart", "b", 2);
  EXPECT_EQ(limit(use("cart", "c", 2)), "operations_per_service");
  catalogue_.retire(2);
  EXPECT_EQ(limit(use("cart", "c", 2)), "");
  EXPECT_EQ(limit(use("cart", "d", 2)), "operations_per_service");
  catalogue_.retire(3);
  EXPECT_EQ(limit(use("fourth", "a", 3)), "");
  EXPECT_EQ(limit(use("fifth", "a", 3)), "");
  EXPECT_EQ(limit(use("sixth", "a", 3)), "services");
}

TEST_F(CatalogueTest, RetiredNamesAreReadableUntilTheyAreForgotten) {
  uint32_t old = use("cart", "a", 1).id;
  uint64_t bytes = catalogue_.bytes();
  catalogue_.retire(2);
  EXPECT_EQ(catalogue_.operation(old).operation, "a");
  EXPECT_EQ(catalogue_.operations("cart", "a"), std::vector<uint32_t>{old});
  EXPECT_EQ(catalogue_.forget_retired(), std::vector<uint32_t>{old});
  EXPECT_EQ(catalogue_.operation(old).service, "unknown_service");
  EXPECT_TRUE(catalogue_.services_named("cart").empty());
  EXPECT_EQ(catalogue_.bytes(), 0u);
  uint32_t again = use("cart", "a", 2).id;
  EXPECT_NE(again, old) << "a number is never used twice";
  EXPECT_EQ(catalogue_.bytes(), bytes);
}

TEST_F(CatalogueTest, WhatIsUsedAgainIsNotForgotten) {
  uint32_t old = use("cart", "a", 1).id;
  catalogue_.retire(2);
  EXPECT_EQ(use("cart", "a", 2).id, old);
  EXPECT_TRUE(catalogue_.forget_retired().empty());
  EXPECT_EQ(catalogue_.operation(old).operation, "a");
}

TEST_F(CatalogueTest, WhatIsRetiredCountsAnewWhenItComesAgain) {
  uint32_t old = use("cart", "a", 1).id;
  catalogue_.retire(2);
  use("cart", "b", 2);
  use("cart", "c", 2);
  EXPECT_EQ(limit(use("cart", "a", 2)), "operations_per_service");
  EXPECT_EQ(catalogue_.operation(old).operation, "a");
}

// A batch that was stored already, or refused.
TEST_F(CatalogueTest, WhatDoesNotArriveTakesNoPlace) {
  uint32_t refused = intern("cart", "a").id;
  intern("cart", "b");
  uint32_t stored = use("cart", "b", 1).id;
  hold_ = {};
  EXPECT_EQ(limit(use("cart", "c", 1)), "");
  EXPECT_EQ(limit(use("cart", "d", 1)), "operations_per_service");
  EXPECT_EQ(limit(use("cart", "a", 1)), "operations_per_service");
  EXPECT_EQ(catalogue_.forget_retired(), std::vector<uint32_t>{refused});
  EXPECT_EQ(catalogue_.operation(stored).operation, "b");
}

TEST_F(CatalogueTest, WhatOneHoldGivesUpAnotherKeeps) {
  uint32_t id = intern("cart", "a").id;
  {
    Catalogue::Hold refused;
    catalogue_.intern("shop", "cart", "a", SpanKind::kServer, refused);
  }
  EXPECT_FALSE(catalogue_.has_retired());
  hold_.used_in(1);
  hold_ = {};
  EXPECT_FALSE(catalogue_.has_retired());
  EXPECT_EQ(catalogue_.operation(id).operation, "a");
}

// A batch that waits for the log while a partition is dropped.
TEST_F(CatalogueTest, WhatIsOnItsWayIsNotRetired) {
  uint32_t on_its_way = intern("cart", "a").id;
  catalogue_.retire(100);
  EXPECT_TRUE(catalogue_.forget_retired().empty());
  EXPECT_EQ(catalogue_.operation(on_its_way).operation, "a");
  hold_ = {};
  catalogue_.retire(100);
  EXPECT_EQ(catalogue_.forget_retired(), std::vector<uint32_t>{on_its_way});
}

// Its number is in indexes of partitions that live.
TEST_F(CatalogueTest, AServiceKeepsItsNumberWithoutItsFirstOperation) {
  uint32_t service = catalogue_.service_of(use("cart", "a", 1).id);
  uint32_t second = use("cart", "b", 2).id;
  catalogue_.retire(2);
  EXPECT_EQ(catalogue_.forget_retired().size(), 1u);
  EXPECT_EQ(catalogue_.service_of(second), service);
  Catalogue restored(CatalogueLimits{});
  for (const auto& [id, row] : catalogue_.rows()) EXPECT_TRUE(is_current(restored.restore(id, row)));
  EXPECT_EQ(restored.service_of(second), service);
  EXPECT_EQ(restored.services_named("cart"), std::vector<uint32_t>{service});
}

TEST_F(CatalogueTest, RowsOfVersionOneTellAServiceByItsFirst) {
  auto row = [](const std::string& service, const std::string& name) {
    return std::string("\1\2\0", 3) + static_cast<char>(service.size()) + service + static_cast<char>(name.size()) +
           name;
  };
  EXPECT_FALSE(is_current(catalogue_.restore(0, row("cart", "a"))));
  EXPECT_FALSE(is_current(catalogue_.restore(1, row("stock", "a"))));
  EXPECT_FALSE(is_current(catalogue_.restore(2, row("cart", "b"))));
  EXPECT_EQ(catalogue_.service_of(2), 0u);
  EXPECT_EQ(catalogue_.service_of(1), 1u);
  EXPECT_EQ(catalogue_.operation(2), (OperationKey{"", "cart", "b", SpanKind::kServer}));
  EXPECT_EQ(catalogue_.next(), 3u);
  Catalogue again(CatalogueLimits{});
  for (const auto& [id, rewritten] : catalogue_.rows()) EXPECT_TRUE(is_current(again.restore(id, rewritten)));
  EXPECT_EQ(again.service_of(2), 0u);
}

// A crash came between forgetting and deleting, and the name came again: the newer row counts, the older is given back.
TEST_F(CatalogueTest, OfTwoRowsOfOneNameTheNewerIsUsed) {
  use("cart", "a", 1);
  std::vector<Catalogue::Row> rows = catalogue_.take_pending();
  catalogue_.retire(2);
  catalogue_.forget_retired();
  uint32_t newer = use("cart", "a", 2).id;
  for (Catalogue::Row& row : catalogue_.take_pending()) rows.push_back(std::move(row));
  ASSERT_EQ(rows.size(), 2u);
  Catalogue restored(CatalogueLimits{});
  for (const auto& [id, row] : rows) ASSERT_TRUE(restored.restore(id, row).ok());
  EXPECT_TRUE(restored.mark_used(newer, 2));
  EXPECT_EQ(restored.service_of(newer), newer);
  Catalogue::Hold hold;
  EXPECT_EQ(restored.intern("shop", "cart", "a", SpanKind::kServer, hold).id, newer);
  restored.retire(2);
  EXPECT_EQ(restored.forget_retired(), std::vector<uint32_t>{rows[0].first});
  EXPECT_EQ(restored.operation(newer).operation, "a");
}

TEST_F(CatalogueTest, DamagedRowsAreNamed) {
  for (const std::string& row :
       {std::string("\1\0", 2), std::string("\2\7\0\0\0\0", 6), std::string("\3\0\0\0\0\0", 6)}) {
    Result<bool> restored = catalogue_.restore(5, row);
    ASSERT_FALSE(restored.ok());
    EXPECT_NE(restored.error().message.find("catalogue of operations is damaged at 5"), std::string::npos);
  }
}

}  // namespace
}  // namespace fathom::store
