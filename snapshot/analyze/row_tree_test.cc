#include "snapshot/analyze/row_tree.h"

#include <gtest/gtest.h>

namespace fathom::snapshot {
namespace {

struct Row {
  std::string name;
  uint32_t parent = 0;
  uint32_t depth = 0;
  uint64_t size = 0;
};

void add(RowTree<Row>& tree, const std::vector<std::string>& path, uint64_t size) {
  uint32_t at = 0;
  for (const std::string& name : path) at = tree.child(at, name);
  tree[at].size += size;
}

std::string text_of(const std::vector<Row>& rows) {
  std::string text;
  for (const Row& row : rows) {
    text += std::string(2 * row.depth, ' ') + row.name + " " + std::to_string(row.size);
    text += row.depth > 0 ? " in " + rows[row.parent].name + "\n" : "\n";
  }
  return text;
}

TEST(RowTree, RowsOfOneNameBelowOneParentAreOneAndTheGreatestComesFirst) {
  RowTree<Row> tree;
  add(tree, {"main", "small"}, 1);
  add(tree, {"main", "b"}, 5);
  add(tree, {"main", "a"}, 5);
  add(tree, {"other"}, 9);
  add(tree, {"other", "small"}, 2);
  add(tree, {"main", "small"}, 1);
  EXPECT_EQ(tree.rows().size(), 7u);
  EXPECT_EQ(text_of(std::move(tree).in_order([](const Row& row) { return row.size; })),
            "all 0\n"
            "  other 9 in all\n"
            "    small 2 in other\n"
            "  main 0 in all\n"
            "    a 5 in main\n"
            "    b 5 in main\n"
            "    small 2 in main\n");
}

TEST(RowTree, ATreeOfNothingIsItsRoot) {
  EXPECT_EQ(text_of(RowTree<Row>().in_order([](const Row& row) { return row.size; })), "all 0\n");
}

std::string chosen_of(const std::vector<Row>& rows, uint64_t limit, uint64_t least) {
  const auto chosen = greatest_rows(
      rows, limit, [](const Row& row) { return row.size; }, [&](const Row& row) { return row.size >= least; });
  std::string text;
  for (size_t i = 0; i < rows.size(); ++i) text += chosen[i] ? rows[i].name + " " : "";
  return text;
}

TEST(RowTree, TheGreatestRowsAreChosenWithThoseAboveThem) {
  RowTree<Row> tree;
  add(tree, {"calm", "busy"}, 9);
  add(tree, {"other"}, 5);
  add(tree, {"other", "small"}, 1);
  const auto rows = std::move(tree).in_order([](const Row& row) { return row.size; });
  EXPECT_EQ(chosen_of(rows, 0, 0), "all other small calm busy ");
  EXPECT_EQ(chosen_of(rows, 0, 2), "all other calm busy ");
  EXPECT_EQ(chosen_of(rows, 3, 0), "all calm busy ");
  EXPECT_EQ(chosen_of(rows, 2, 0), "all other ") << "for busy there is no room beside calm";
  EXPECT_EQ(chosen_of(rows, 1, 0), "all ");
}

}  // namespace
}  // namespace fathom::snapshot
