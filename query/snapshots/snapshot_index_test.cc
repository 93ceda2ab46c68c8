#include "query/snapshots/snapshot_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace fathom::query {
namespace {

SnapshotId id_of(uint64_t n) {
  SnapshotId id;
  id.bytes[15] = static_cast<uint8_t>(n);
  return id;
}

Sha256 image(uint64_t n) {
  Sha256 content;
  content.bytes[0] = static_cast<uint8_t>(n + 1);
  return content;
}

SnapshotSummary summary(uint64_t n, std::vector<uint64_t> images) {
  const uint64_t received = 100 + (n * 7) % 50;
  SnapshotSummary summary{
      .id = id_of(n), .bytes = 1000 + n, .received_unix_nano = received, .received_stamp_nano = received};
  summary.taken_unix_nano = n % 3 == 0 ? 0 : 1000 - n;
  summary.host = n % 2 == 0 ? "even" : "odd";
  std::ranges::sort(images);
  const auto repeated = std::ranges::unique(images);
  images.erase(repeated.begin(), repeated.end());
  for (uint64_t number : images) summary.contents.push_back(image(number));
  return summary;
}

// What the index must say, worked out anew from plain lists each time.
class Model {
 public:
  void check(const SnapshotIndex& index) const {
    uint64_t bytes = 0;
    for (const auto& [n, one] : snapshots) bytes += one.bytes;
    EXPECT_EQ(index.bytes().snapshots, bytes);
    uint64_t named = 0, unnamed = 0;
    for (const auto& [n, size] : images) (is_named(n) ? named : unnamed) += size;
    EXPECT_EQ(index.bytes().named_images, named);
    EXPECT_EQ(index.bytes().unnamed_images, unnamed);
    EXPECT_EQ(index.snapshots(), snapshots.size());
    EXPECT_EQ(index.images(), images.size());
    check_traces(index);
    check_oldest(index);
    check_pages(index, {});
    check_pages(index, {.trace_id = std::nullopt, .host = "odd"});
    check_superfluous(index);
  }

  std::map<uint64_t, SnapshotSummary> snapshots;
  std::map<uint64_t, uint64_t> images;  // sizes; number n was touched at n

 private:
  bool is_named(uint64_t n) const {
    return std::ranges::any_of(snapshots, [&](const auto& entry) {
      return std::ranges::find(entry.second.contents, image(n)) != entry.second.contents.end();
    });
  }
  // The trace without an id is none, however many snapshots are of it.
  void check_traces(const SnapshotIndex& index) const {
    for (uint8_t trace = 0; trace < 3; ++trace) {
      const auto of_it = std::ranges::count_if(
          snapshots, [&](const auto& entry) { return entry.second.trigger.trace_id.bytes[0] == trace; });
      TraceId id;
      id.bytes[0] = trace;
      EXPECT_EQ(index.count_of_trace(id), trace == 0 ? 0 : static_cast<size_t>(of_it));
    }
  }
  void check_oldest(const SnapshotIndex& index) const {
    auto oldest = std::ranges::min_element(
        snapshots, {}, [](const auto& entry) { return std::pair(entry.second.received_stamp_nano, entry.second.id); });
    if (oldest == snapshots.end()) {
      EXPECT_EQ(index.oldest(), nullptr);
    } else {
      EXPECT_EQ(index.oldest()->id, oldest->second.id);
    }
  }
  void check_pages(const SnapshotIndex& index, const SnapshotFilter& filter) const {
    std::vector<std::pair<uint64_t, SnapshotId>> wanted, got;
    for (const auto& [n, one] : snapshots) {
      if (!filter.host || one.host == *filter.host) wanted.emplace_back(one.instant_unix_nano(), one.id);
    }
    std::ranges::sort(wanted, std::greater<>());
    std::optional<SnapshotCursor> cursor;
    do {
      SnapshotPage page = index.page(filter, 3, cursor);
      for (const auto& row : page.rows) got.emplace_back(row->instant_unix_nano(), row->id);
      cursor = page.next;
    } while (cursor && got.size() < 1000);
    EXPECT_EQ(got, wanted);
  }
  void check_superfluous(const SnapshotIndex& index) const {
    std::set<Sha256> wanted;
    for (const auto& [n, size] : images) {
      if (n < 8 && !is_named(n)) wanted.insert(image(n));
    }
    auto got = index.superfluous_images(8);
    EXPECT_EQ(std::set<Sha256>(got.begin(), got.end()), wanted);
  }
};

TEST(SnapshotIndex, AgreesWithAModelWhateverHappens) {
  std::mt19937_64 random(20261122);
  for (int round = 0; round < 20; ++round) {
    SnapshotIndex index;
    Model model;
    for (int step = 0; step < 150; ++step) {
      const uint64_t n = random() % 16;
      switch (random() % 4) {
        case 0: {
          SnapshotSummary one = summary(n, {random() % 16, random() % 16, random() % 16});
          one.trigger.trace_id.bytes[0] = static_cast<uint8_t>(n % 3);
          const bool added = model.snapshots.emplace(n, one).second;
          EXPECT_EQ(index.add(std::make_shared<const SnapshotSummary>(one)), added);
          break;
        }
        case 1:
          EXPECT_EQ(index.remove(id_of(n)) != nullptr, model.snapshots.erase(n) > 0);
          break;
        case 2:
          model.images.emplace(n, 10 + n);
          index.add_image(image(n), 10 + n, n);
          break;
        default:
          if (model.images.erase(n) > 0) index.remove_image(image(n));
      }
      model.check(index);
      if (::testing::Test::HasFailure()) FAIL() << "round " << round << ", step " << step;
    }
  }
}

TEST(SnapshotIndex, AnImageThatSomebodyAskedForStays) {
  SnapshotIndex index;
  index.add_image(image(1), 10, 100);
  EXPECT_EQ(index.superfluous_images(101).size(), 1u);
  EXPECT_TRUE(index.touch_image(image(1), 200));
  EXPECT_TRUE(index.superfluous_images(101).empty());
  EXPECT_FALSE(index.touch_image(image(2), 200));
}

TEST(SnapshotIndex, WhatIsMissingIsWhatNobodyCouldReadAndWhatDidNotCome) {
  SnapshotIndex index;
  SnapshotSummary one = summary(1, {1, 2, 3});
  one.unreadable_images = 2;
  index.add_image(image(2), 10, 0);
  EXPECT_EQ(index.missing_images(one), 4u);
}

}  // namespace
}  // namespace fathom::query
