#include "apps/worker/work.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/fd.h"
#include "base/testing/temp_directory.h"
#include "snapshot/format/directory.h"

namespace fathom {
namespace {

class WorkTest : public testing::Test {
 protected:
  void SetUp() override { options_.directory = path_ + "/snapshots"; }
  Result<> run(WorkerTask task) {
    options_.task = task;
    out_.clear();
    remarks_.clear();
    return work(options_, {[&](std::string_view piece) {
                             out_ += piece;
                             return true;
                           },
                           [&](std::string_view line) { remarks_.append(line) += '\n'; }});
  }
  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(path_ + "/" + name, std::ios::binary) << content;
    return path_ + "/" + name;
  }
  static std::string psb() {
    std::string bytes;
    for (int i = 0; i < 8; ++i) bytes += "\x02\x82";
    return bytes;
  }
  // Some packets and some code of 16 bytes.
  std::string import() {
    options_.raw.emplace();
    options_.raw->path = write("stream.pt", psb() + std::string(48, '\0'));
    options_.raw->images = {{write("code", std::string(16, '\x90')), 0x1000}};
    options_.raw->cpu = {true, 6, 142, 10};
    options_.raw->timing.nom_freq = 28;
    options_.raw->timing.cpuid_0x15_eax = 2;
    options_.raw->timing.cpuid_0x15_ebx = 168;
    return import_again();
  }
  std::string import_again() {
    auto done = run(WorkerTask::kImport);
    EXPECT_TRUE(done) << done.error().message;
    return out_.substr(out_.find(':') + 2, 32);
  }

  TempDirectory scratch_;
  const std::string path_ = scratch_.path();
  WorkerOptions options_;
  std::string out_;
  std::string remarks_;
};

TEST_F(WorkTest, ImportSaysTheIdAndListShowsIt) {
  const std::string id = import();
  EXPECT_EQ(out_, "{\"snapshot_id\":\"" + id + "\"}\n");
  EXPECT_EQ(remarks_, "");
  ASSERT_TRUE(run(WorkerTask::kList));
  EXPECT_NE(out_.find(id), std::string::npos);
  EXPECT_NE(out_.find("raw stream"), std::string::npos);
  EXPECT_NE(out_.find("1/1"), std::string::npos) << out_;
  options_.question.format = snapshot::Format::kJson;
  ASSERT_TRUE(run(WorkerTask::kList));
  EXPECT_NE(out_.find("\"packet_bytes\":64"), std::string::npos) << out_;
}

TEST_F(WorkTest, ImportSaysWhatWillNotBeKnown) {
  import();
  options_.raw->images.clear();
  import_again();
  EXPECT_NE(remarks_.find("no --image FILE"), std::string::npos) << remarks_;
  options_.raw->cpu = {};
  options_.raw->timing = {};
  import_again();
  EXPECT_NE(remarks_.find("no --cpu"), std::string::npos) << remarks_;
  EXPECT_NE(remarks_.find("no --cpuid-0x15 EAX/EBX: MTC packets tell no time, and without --nom-freq"),
            std::string::npos)
      << remarks_;
}

TEST_F(WorkTest, WhatIsNoStreamIsNotImported) {
  import();
  options_.raw->path = write("elf",
                             "\x7f"
                             "ELF and so on");
  auto refused = run(WorkerTask::kImport);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
  EXPECT_NE(refused.error().message.find("no synchronisation point (PSB)"), std::string::npos);
  options_.question.format = snapshot::Format::kJson;
  ASSERT_TRUE(run(WorkerTask::kList));
  EXPECT_EQ(std::ranges::count(out_, '{'), 1) << "the first one is alone: " << out_;
}

TEST_F(WorkTest, APsbFarBehindIsFound) {
  import();
  options_.raw->path = write("late.pt", std::string((1 << 20) - 8, '\0') + psb() + std::string(8, '\0'));
  EXPECT_TRUE(run(WorkerTask::kImport));
}

TEST_F(WorkTest, QuestionsMakeNoDirectory) {
  options_.directory = path_ + "/none";
  options_.id = "last";
  auto asked = run(WorkerTask::kAsk);
  ASSERT_FALSE(asked);
  EXPECT_EQ(asked.error().code, ErrorCode::kNotFound);
  EXPECT_NE(asked.error().message.find("there is no snapshot 'last' in " + path_ + "/none"), std::string::npos)
      << asked.error().message;
  EXPECT_FALSE(run(WorkerTask::kRemove));
  options_.id.clear();
  ASSERT_TRUE(run(WorkerTask::kList));
  EXPECT_NE(remarks_.find("there is no snapshot yet"), std::string::npos) << remarks_;
  options_.question.format = snapshot::Format::kJson;
  ASSERT_TRUE(run(WorkerTask::kList));
  EXPECT_EQ(out_, "[]\n");
  EXPECT_FALSE(std::filesystem::exists(path_ + "/none"));
}

TEST_F(WorkTest, ImportSaysWhichTimesWouldBeWrong) {
  import();
  options_.raw->path = write("mtc.pt", psb() + "\x02\x23" + "\x59\x01\x59\x02");
  import_again();
  EXPECT_NE(remarks_.find("no --mtc-freq N"), std::string::npos) << remarks_;
  options_.mtc_freq_given = true;
  import_again();
  EXPECT_EQ(remarks_, "");
  options_.raw->timing.cpuid_0x15_eax = options_.raw->timing.cpuid_0x15_ebx = 0;
  import_again();
  EXPECT_EQ(remarks_, "no --cpuid-0x15 EAX/EBX: taken to be 2/233, by the crystal clock of this model\n");
}

TEST_F(WorkTest, AnImageThatLostItsCodeIsARemark) {
  import();
  options_.raw->images.push_back({write("cut", ""), 0x2000});
  import_again();
  EXPECT_NE(remarks_.find("1 of 2 images are missing"), std::string::npos) << remarks_;
  EXPECT_NE(remarks_.find("cut: it is empty"), std::string::npos) << remarks_;
}

TEST_F(WorkTest, ImportSaysWhichOfTwoImagesHidesTheOther) {
  import();
  options_.raw->images.push_back({write("later", std::string(16, '\xc3')), 0x1008});
  import_again();
  EXPECT_NE(remarks_.find("two images lie at 0x1008"), std::string::npos) << remarks_;
  EXPECT_NE(remarks_.find("later, which was named later, hides"), std::string::npos) << remarks_;
}

TEST_F(WorkTest, SaysHowFarItHasCome) {
  options_.id = import();
  std::string told;
  WorkerStreams streams{[](std::string_view) { return true; }, [](std::string_view) {},
                        [&](std::string_view what, uint64_t done, uint64_t all) {
                          told += std::string(what) + " " + std::to_string(done) + "/" + std::to_string(all) + "\n";
                        }};
  options_.task = WorkerTask::kImport;
  ASSERT_TRUE(work(options_, streams));
  EXPECT_EQ(told, "copied 64/64\n");
  told.clear();
  options_.task = WorkerTask::kAsk;
  options_.question.verb = snapshot::Verb::kCalls;
  ASSERT_TRUE(work(options_, streams));
  EXPECT_EQ(told, "decoded 64/64\n");
}

TEST_F(WorkTest, AnEmptyListTeaches) {
  ASSERT_TRUE(run(WorkerTask::kList));
  EXPECT_EQ(out_, "");
  EXPECT_NE(remarks_.find("fathom snapshot import"), std::string::npos);
}

TEST_F(WorkTest, ADamagedSnapshotIsARowThatSaysSo) {
  const std::string id = import();
  std::ofstream(options_.directory + "/snapshots/" + id + ".snapshot") << "short";
  ASSERT_TRUE(run(WorkerTask::kList));
  EXPECT_NE(out_.find("too short"), std::string::npos) << out_;
}

TEST_F(WorkTest, RemovedIsGone) {
  options_.id = import().substr(0, 6);
  ASSERT_TRUE(run(WorkerTask::kRemove));
  EXPECT_EQ(run(WorkerTask::kRemove).error().code, ErrorCode::kNotFound);
}

TEST_F(WorkTest, AnAnswerThatIsKnownIsNotWorkedOutAgain) {
  options_.id = import();
  options_.question.verb = snapshot::Verb::kCalls;
  snapshot::Question question = options_.question;
  question.id = *snapshot::SnapshotId::from_hex_text(options_.id);
  auto directory = snapshot::SnapshotDirectory::open(options_.directory);
  ASSERT_TRUE(directory->keep_result(answer_key(question), "as before\n"));
  ASSERT_TRUE(run(WorkerTask::kAsk));
  EXPECT_EQ(out_, "as before\n");
  options_.cache = false;
  (void)run(WorkerTask::kAsk);
  EXPECT_NE(out_, "as before\n");
}

TEST_F(WorkTest, AnAnswerThatDependsOnFilesOfThisHostIsNotKept) {
  options_.id = import();
  options_.question.verb = snapshot::Verb::kStats;
  options_.cache = false;
  const auto kept = [&] {
    return std::distance(std::filesystem::directory_iterator(options_.directory + "/results"), {});
  };
  options_.question.source_directories = {{"/build", path_}};
  ASSERT_TRUE(run(WorkerTask::kAsk));
  EXPECT_EQ(kept(), 0);
  options_.question.source_directories.clear();
  ASSERT_TRUE(run(WorkerTask::kAsk));
  EXPECT_EQ(kept(), 1) << "--no-cache replaces what was kept before";
}

// Nothing of a snapshot is read before, and the paths are those of the task.
TEST_F(WorkTest, ConfinesItselfFirst) {
  options_.id = import();
  options_.question.verb = snapshot::Verb::kCalls;
  std::vector<AllowedPath> given;
  out_.clear();
  options_.task = WorkerTask::kAsk;
  const Result<> done = work(options_, {.out = [&](std::string_view piece) { return !out_.append(piece).empty(); },
                                        .remark = [](std::string_view) {},
                                        .progress = {},
                                        .confine = [&](const std::vector<AllowedPath>& paths) -> Result<> {
                                          given = paths;
                                          return invalid("it cannot");
                                        }});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "it cannot");
  EXPECT_EQ(out_, "");
  ASSERT_FALSE(given.empty());
  EXPECT_EQ(given.front().path, options_.directory + "/snapshots/" + options_.id + ".snapshot");
}

TEST_F(WorkTest, AQuestionAboutNothingIsNotFound) {
  options_.id = "abcd";
  auto asked = run(WorkerTask::kAsk);
  ASSERT_FALSE(asked);
  EXPECT_EQ(asked.error().code, ErrorCode::kNotFound);
  EXPECT_NE(asked.error().message.find("fathom snapshot list"), std::string::npos);
}

TEST(AnswerKey, DependsOnEveryOptionButNotOnThreads) {
  snapshot::Question question;
  const std::string key = answer_key(question);
  auto differs = [&](auto change) {
    snapshot::Question other = question;
    change(other);
    return answer_key(other) != key;
  };
  EXPECT_TRUE(differs([](auto& q) { q.id.bytes[0] = 1; }));
  EXPECT_TRUE(differs([](auto& q) { q.other.bytes[0] = 1; }));
  EXPECT_TRUE(differs([](auto& q) { q.verb = snapshot::Verb::kDiff; }));
  EXPECT_TRUE(differs([](auto& q) { q.format = snapshot::Format::kSvg; }));
  EXPECT_TRUE(differs([](auto& q) { q.count_only = true; }));
  EXPECT_TRUE(differs([](auto& q) { q.limit = 1; }));
  EXPECT_TRUE(differs([](auto& q) { q.tid = 1; }));
  EXPECT_TRUE(differs([](auto& q) { q.from = "x"; }));
  EXPECT_TRUE(differs([](auto& q) { q.to = "x"; }));
  EXPECT_TRUE(differs([](auto& q) { q.inlines = true; }));
  EXPECT_TRUE(differs([](auto& q) { q.by_instructions = true; }));
  EXPECT_FALSE(differs([](auto& q) { q.threads = 3; }));
}

}  // namespace
}  // namespace fathom
