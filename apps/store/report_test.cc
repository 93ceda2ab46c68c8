// The reports name what was checked, each damage with what it affects, and what to do.
#include "apps/store/report.h"

#include <gtest/gtest.h>

namespace fathom {
namespace {

store::Findings damaged_findings() {
  store::Findings findings;
  findings.checked("blocks", 12);
  findings.damaged({"blocks",
                    "segment 3, block 7",
                    "its checksum is wrong",
                    {.received = store::TimeRange{1'000'000'000, 2'000'000'000},
                     .started = std::nullopt,
                     .spans = 1024,
                     .traces = 90}});
  findings.known_loss({1'000'000'000, 2'000'000'000, 3'000'000'000, 10, 2});
  findings.note("only a note");
  return findings;
}

TEST(StoreReport, NamesADamageAndWhatItAffects) {
  const std::string text = store_report_text(StoreVerb::kVerify, damaged_findings(), "/data");
  EXPECT_NE(text.find("damaged: blocks: segment 3, block 7\n  its checksum is wrong\n"
                      "  affects at most 1,024 spans of 90 traces, received between 1970-01-01T00:00:01.000000000Z and "
                      "1970-01-01T00:00:02.000000000Z\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("known loss: at most 2 batches"), std::string::npos) << text;
  EXPECT_NE(text.find("note: only a note\n"), std::string::npos) << text;
  EXPECT_NE(text.find("12 checked, 1 damaged\n"), std::string::npos) << text;
  EXPECT_NE(text.find("'fathom store repair /data NEW_DIR'"), std::string::npos) << text;
}

TEST(StoreReport, NamesAnotherFixInsteadOfARepair) {
  store::Findings findings = damaged_findings();
  findings.set_fix("use the fathom that wrote it");
  const std::string text = store_report_text(StoreVerb::kVerify, findings, "/data");
  EXPECT_TRUE(text.ends_with("/data is damaged in 1 place; use the fathom that wrote it\n")) << text;
  EXPECT_EQ(text.find("repair"), std::string::npos) << text;
  const std::string json = store_report_json(StoreVerb::kVerify, findings, "/data");
  EXPECT_NE(json.find(R"("fix":"use the fathom that wrote it")"), std::string::npos) << json;
}

TEST(StoreReport, CountsOneThingInTheSingular) {
  store::Findings findings;
  findings.damaged({"stage", "batch 4", "it is gone", {.received = {}, .started = {}, .spans = 1, .traces = 1}});
  findings.known_loss({1'000'000'000, 2'000'000'000, 3'000'000'000, 10, 1});
  const std::string text = store_report_text(StoreVerb::kRepair, findings, "/data", "/new");
  EXPECT_NE(text.find("affects at most 1 span of 1 trace\n"), std::string::npos) << text;
  EXPECT_NE(text.find("known loss: at most 1 batch, "), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("/new: 1 loss; the new server reports it\n")) << text;
  findings.damaged({"stage", "batch 5", "it is gone"});
  EXPECT_TRUE(store_report_text(StoreVerb::kRepair, findings, "/data", "/new")
                  .ends_with("/new: 2 losses; the new server reports them\n"));
}

TEST(StoreReport, SaysThatADirectoryIsIntact) {
  store::Findings findings;
  findings.checked("blocks", 2);
  EXPECT_TRUE(store_report_text(StoreVerb::kVerify, findings, "/data").ends_with("/data is intact\n"));
  EXPECT_TRUE(store_report_text(StoreVerb::kRepair, findings, "/data", "/new")
                  .ends_with("repaired /data into /new: nothing was lost\n"));
}

TEST(StoreReport, IsJson) {
  EXPECT_EQ(store_report_json(StoreVerb::kVerify, damaged_findings(), "/data"),
            R"({"directory":"/data","intact":false,"damage_count":1,)"
            R"("parts":[{"part":"blocks","checked":12,"damaged":1}],)"
            R"("damages":[{"part":"blocks","place":"segment 3, block 7","reason":"its checksum is wrong",)"
            R"("received":{"from_unix_nano":1000000000,"to_unix_nano":2000000000},)"
            R"("spans_at_most":1024,"traces_at_most":90}],)"
            R"("known_losses":[{"first_received_unix_nano":1000000000,"last_received_unix_nano":2000000000,)"
            R"("found_unix_nano":3000000000,"most_batches":2}],"notes":["only a note"]})"
            "\n");
}

}  // namespace
}  // namespace fathom
