#include "apps/worker/work_paths.h"

#include <gtest/gtest.h>

#include <map>

namespace fathom {
namespace {

std::map<std::string, uint32_t> rights(const WorkerOptions& options, const snapshot::Question& question) {
  std::map<std::string, uint32_t> all;
  for (const AllowedPath& path : work_paths(options, question)) all[path.path] |= path.rights;
  return all;
}

WorkerOptions options_of(WorkerTask task) {
  WorkerOptions options;
  options.task = task;
  options.directory = "/d";
  return options;
}

snapshot::Question question_about(uint8_t first) {
  snapshot::Question question;
  question.id.bytes[0] = first;
  return question;
}

TEST(WorkPaths, AQuestionReadsItsOwnSnapshotAndChangesNone) {
  const auto question = question_about(0xab);
  const auto all = rights(options_of(WorkerTask::kAsk), question);
  EXPECT_EQ(all.at("/d/snapshots/" + question.id.hex() + ".snapshot"), kReadFiles);
  EXPECT_EQ(all.at("/d/images"), kReadFiles);
  EXPECT_EQ(all.at("/usr/lib/debug"), kReadFiles);
  EXPECT_FALSE(all.contains("/d/snapshots"));
  EXPECT_FALSE(all.contains("/d"));
  EXPECT_EQ(all.at("/d/results"), kCreateFiles | kRemoveFiles);
}

TEST(WorkPaths, WhatKeepsNoAnswerWritesNothing) {
  auto question = question_about(1);
  question.source_directories = {{"/build", "/srv/src"}};
  for (const WorkerTask task : {WorkerTask::kAsk, WorkerTask::kView, WorkerTask::kList}) {
    for (const auto& [path, given] : rights(options_of(task), question)) {
      EXPECT_EQ(given & ~uint32_t{kReadFiles | kListFiles}, 0u) << path;
    }
  }
}

TEST(WorkPaths, BothSnapshotsOfADifference) {
  auto question = question_about(1);
  question.other.bytes[0] = 2;
  const auto all = rights(options_of(WorkerTask::kAsk), question);
  EXPECT_TRUE(all.contains("/d/snapshots/" + question.other.hex() + ".snapshot"));
}

TEST(WorkPaths, SourcesAreReadWhereTheyAreAllowed) {
  auto question = question_about(1);
  question.source_directories = {{"/build", "/srv/src"}};
  EXPECT_EQ(rights(options_of(WorkerTask::kAsk), question).at("/srv/src"), kReadFiles);
  question.source_directories = {{"/", "/"}};
  const auto all = rights(options_of(WorkerTask::kAsk), question);
  EXPECT_FALSE(all.contains("/")) << "the opener hands these out";
  EXPECT_EQ(all.at("/usr"), kReadFiles);
}

TEST(WorkPaths, AnImportReadsWhatItNames) {
  WorkerOptions options = options_of(WorkerTask::kImport);
  options.perf = snapshot::PerfImport{"/p/perf.data", {{"/p/image", {}}}, "/symfs", "/k/kcore", "/home/someone/.debug"};
  auto all = rights(options, {});
  for (const char* path : {"/p/image", "/k/kcore", "/k/kallsyms", "/symfs", "/home/someone/.debug"}) {
    EXPECT_EQ(all.at(path), kReadFiles) << path;
  }
  EXPECT_EQ(all.at("/p/perf.data"), kReadFiles | kListFiles);
  options.opens_host_code = true;  // which opens these
  all = rights(options, {});
  EXPECT_FALSE(all.contains("/symfs"));
  EXPECT_FALSE(all.contains("/home/someone/.debug"));
}

}  // namespace
}  // namespace fathom
