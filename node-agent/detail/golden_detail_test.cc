// A detail pool of version 1 as the real client wrote it (tests/detail_test.cc): agents read every version that was
// ever released.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>

#include "node-agent/detail/detail_reader.h"
#include "node-agent/detail/event_decoder.h"
#include "node-agent/testing/golden_detail.h"

namespace fathom::agent {
namespace {

const std::string kGolden = FATHOM_TESTDATA "/detail-v1";

TEST(GoldenDetail, VersionOneIsReadWhole) {
  Result<DetailFile> opened = DetailFile::open(testing::golden_detail(kGolden), 0);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  DetailReader reader(*std::move(opened));
  DetailSnapshot snapshot = reader.snapshot({}, 1 << 20);
  std::multimap<uint64_t, std::string> lines;
  std::set<uint32_t> threads;
  DecodeCounts counts = decode(snapshot, [&](const EventView& event) {
    std::string line = to_text(event) + " spans=" + std::to_string(event.spans.size());
    for (const pool::SpanRef& span : event.spans) line += " trace " + std::to_string(span.trace_id[0]);
    lines.emplace(event.ticks, line);
    threads.insert(event.tid);
  });
  std::ifstream text(kGolden + ".txt");
  std::string expected;
  for (const auto& [ticks, line] : lines) {
    ASSERT_TRUE(std::getline(text, expected));
    EXPECT_EQ(line, expected);
  }
  EXPECT_FALSE(std::getline(text, expected));
  EXPECT_EQ(threads.size(), 1u);
  EXPECT_EQ(counts.walk.holes + counts.unknown_tracepoints + counts.malformed_payloads, 0u);
  EXPECT_EQ(snapshot.losses.list(), (std::vector<std::pair<std::string, uint64_t>>{{"cut_texts", 1}}));
  EXPECT_EQ(snapshot.table.find(16)->name, "nothing");
  EXPECT_NE(snapshot.table.find(16)->file.find("event_writer.cc"), std::string::npos);
}

}  // namespace
}  // namespace fathom::agent
