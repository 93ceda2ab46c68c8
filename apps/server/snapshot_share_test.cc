// Snapshots from one person's directory to a server and on to another person's, by the commands, over real HTTP.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "cli/snapshot_share.h"
#include "query/query_server.h"
#include "query/testing/sample_snapshots.h"
#include "store/model/memory_store.h"

namespace fathom {
namespace {

namespace fs = std::filesystem;
using cli::ExitCode;
using query::testing::image_of;
using query::testing::made_snapshot;
using query::testing::MadeSnapshot;
using query::testing::numbered_snapshot;

class SnapshotShareTest : public testing::Test {
 protected:
  void SetUp() override {
    auto bound = server_.start();
    ASSERT_TRUE(bound.ok()) << bound.error().message;
    url_ = "http://" + *bound;
    context_ = cli::process_context();
    context_.out = [this](std::string_view text) { out_ += text; };
    context_.err = [this](std::string_view text) { err_ += text; };
    context_.env = [](const char*) { return std::nullopt; };
  }

  static void write(const std::string& path, const std::string& content) {
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << content;
  }
  static std::string read(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }
  static std::string file(const std::string& directory, const MadeSnapshot& made) {
    return directory + "/snapshots/" + made.id.hex() + ".snapshot";
  }
  static std::string image_file(const std::string& directory, const std::string& image) {
    return directory + "/images/" + sha256(image).hex();
  }
  MadeSnapshot record(uint64_t n, size_t packet_bytes) const {
    MadeSnapshot made = made_snapshot(numbered_snapshot(n), std::string(packet_bytes, 'p'));
    write(file(mine(), made), made.bytes);
    write(image_file(mine(), image_of(n)), image_of(n));
    return made;
  }
  ExitCode run(const std::string& verb, const std::string& id, const std::string& directory) {
    out_.clear();
    err_.clear();
    for (const cli::Command* command : cli::snapshot_share_commands()) {
      if (!command->line.name.ends_with(" " + verb)) continue;
      auto args = cli::parse_args(command->line, {id, "--directory", directory, "--url", url_});
      EXPECT_TRUE(args.ok());
      return command->run(*args, context_);
    }
    return ExitCode::kUsage;
  }
  std::string mine() const { return directory_.path() + "/mine"; }
  std::string yours() const { return directory_.path() + "/yours"; }
  Result<cli::Api> connect() const {
    return cli::Api(context_.connect(url_, kNanosPerMinute, {}), std::nullopt, nullptr,
                    context_.connect_put(url_, kNanosPerMinute, {}));
  }

  TempDirectory directory_;
  query::testing::SampleSnapshots snapshots_;
  store::MemoryStore spans_;
  query::QueryServer server_{{}, {spans_, nullptr, &snapshots_.store()}};
  std::string url_;
  cli::Context context_;
  std::string out_;
  std::string err_;
};

TEST_F(SnapshotShareTest, WhatOnePersonPushesAnotherPulls) {
  MadeSnapshot made = record(1, 10'000'000);  // some pieces
  ASSERT_EQ(run("push", made.id.hex().substr(0, 6), mine()), ExitCode::kOk) << err_;
  EXPECT_EQ(out_, "{\"snapshot_id\":\"" + made.id.hex() + "\"}\n");
  EXPECT_NE(err_.find("with 1 image; 0 were there already\n"), std::string::npos) << err_;
  ASSERT_EQ(run("push", "last", mine()), ExitCode::kOk) << err_;
  EXPECT_NE(err_.find("pushed 0 B with 0 images; 1 was there already\n"), std::string::npos) << err_;
  ASSERT_EQ(run("pull", made.id.hex(), yours()), ExitCode::kOk) << err_;
  EXPECT_EQ(read(file(yours(), made)), made.bytes);
  EXPECT_EQ(read(image_file(yours(), image_of(1))), image_of(1));
  EXPECT_TRUE(fs::is_empty(yours() + "/drafts"));
  ASSERT_EQ(run("pull", made.id.hex(), yours()), ExitCode::kOk) << err_;
  EXPECT_NE(err_.find("pulled 0 B with 0 images; 1 was there already\n"), std::string::npos) << err_;
}

TEST_F(SnapshotShareTest, APushGoesOnWhereItStopped) {
  MadeSnapshot made = record(1, 10'000'000);
  query::UploadPiece begun{.name = {false, made.id.hex()}, .offset = 0, .total = made.bytes.size()};
  ASSERT_TRUE(snapshots_.store().take(begun, made.bytes.substr(0, 9'000'000)).ok());
  auto api = connect();
  auto pushed = cli::push_snapshot(context_, *api, mine(), made.id.hex());
  ASSERT_TRUE(pushed.ok()) << pushed.error().message;
  EXPECT_EQ(pushed->moved_bytes, made.bytes.size() - 9'000'000 + image_of(1).size());
  EXPECT_TRUE(snapshots_.store().find(made.id).ok());
}

TEST_F(SnapshotShareTest, MissingImagesAreCounted) {
  MadeSnapshot made = record(1, 10);
  fs::remove(image_file(mine(), image_of(1)));
  ASSERT_EQ(run("push", "last", mine()), ExitCode::kOk) << err_;
  EXPECT_NE(err_.find("1 is missing"), std::string::npos) << err_;
}

TEST_F(SnapshotShareTest, WhatIsNotThereIsExitOne) {
  EXPECT_EQ(run("push", "last", mine()), ExitCode::kNothingFound);
  EXPECT_EQ(run("push", std::string(32, '1'), mine()), ExitCode::kNothingFound);
  EXPECT_EQ(run("pull", std::string(32, '1'), yours()), ExitCode::kNothingFound);
  EXPECT_EQ(run("pull", "12", yours()), ExitCode::kUsage);
  EXPECT_TRUE(out_.empty());
}

TEST_F(SnapshotShareTest, DamageOnTheServerIsNotTakenForASnapshot) {
  MadeSnapshot made = record(1, 10'000);
  ASSERT_EQ(run("push", "last", mine()), ExitCode::kOk) << err_;
  std::string damaged = made.bytes;
  damaged[100] ^= 1;
  write(file(snapshots_.path(), made), damaged);
  EXPECT_EQ(run("pull", made.id.hex(), yours()), ExitCode::kServerRefused);
  EXPECT_NE(err_.find("something else"), std::string::npos) << err_;
  EXPECT_FALSE(fs::exists(file(yours(), made)));
  EXPECT_TRUE(fs::is_empty(yours() + "/drafts"));
}

TEST_F(SnapshotShareTest, ADamagedFileHereIsRefusedByTheServer) {
  MadeSnapshot made = record(1, 10'000);
  std::string damaged = made.bytes;
  damaged[100] ^= 1;
  write(file(mine(), made), damaged);
  EXPECT_EQ(run("push", "last", mine()), ExitCode::kServerRefused);
  EXPECT_NE(err_.find("SHA-256"), std::string::npos) << err_;
  EXPECT_FALSE(snapshots_.store().find(made.id).ok());
}

TEST_F(SnapshotShareTest, WhatIsNotHereIsPulledForEveryVerb) {
  MadeSnapshot made = record(1, 10);
  const std::string id = made.id.hex();
  int asked = 0;
  auto server = [&] {
    ++asked;
    return connect();
  };
  EXPECT_EQ(*cli::here_or_pulled(context_, mine(), id.substr(0, 5), server), id);
  EXPECT_EQ(*cli::here_or_pulled(context_, mine(), "last", server), id);
  EXPECT_EQ(*cli::here_or_pulled(context_, yours(), "last", server), "last") << "whoever asks explains that";
  EXPECT_EQ(asked, 0);
  EXPECT_EQ(cli::here_or_pulled(context_, yours(), id, server).error().code, ErrorCode::kNotFound);
  ASSERT_EQ(run("push", "last", mine()), ExitCode::kOk) << err_;
  EXPECT_EQ(*cli::here_or_pulled(context_, yours(), id, server), id);
  EXPECT_EQ(read(file(yours(), made)), made.bytes);
  EXPECT_EQ(asked, 2);
}

}  // namespace
}  // namespace fathom
