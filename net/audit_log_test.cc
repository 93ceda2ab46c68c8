#include "net/audit_log.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace fathom::net {
namespace {

TEST(AuditLine, HasWhoWhatAndTheOutcome) {
  EXPECT_EQ(audit_line({.token_name = "ann \"the\" reader",
                        .peer = "127.0.0.1:7",
                        .scope = Scope::kControl,
                        .request = "POST /api/v1/captures",
                        .body = R"({"pid":7})",
                        .status = 200},
                       1'795'226'400'000'000'000),
            R"({"time":"2026-11-21T02:00:00.000000000Z","token":"ann \"the\" reader","peer":"127.0.0.1:7",)"
            R"("scope":"control","request":"POST /api/v1/captures","body":"{\"pid\":7}","status":200})");
}

class AuditLogTest : public ::testing::Test {
 protected:
  void TearDown() override {
    ::unlink(path_.c_str());
    ::unlink((path_ + ".1").c_str());
  }
  static std::string text_of(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void note(const std::string& request) { log_->note({.token_name = "ann", .request = request, .body = {}}); }

  const std::string path_ = ::testing::TempDir() + "audit-" + std::to_string(::getpid());
  std::shared_ptr<AuditLog> log_;
};

TEST_F(AuditLogTest, AppendsAndIsOpenedAnewAfterARotation) {
  std::ofstream(path_) << "earlier\n";
  log_ = *AuditLog::open(path_);
  note("GET /a");
  EXPECT_NE(text_of(path_).find("earlier\n{"), std::string::npos);
  std::filesystem::rename(path_, path_ + ".1");
  note("GET /b");
  EXPECT_NE(text_of(path_ + ".1").find("GET /b"), std::string::npos);
  log_->use(*log_->open_again());
  note("GET /c");
  EXPECT_EQ(text_of(path_).find("GET /b"), std::string::npos);
  EXPECT_NE(text_of(path_).find("GET /c"), std::string::npos);
}

TEST_F(AuditLogTest, NotesTheRequestWithItsAnswer) {
  log_ = *AuditLog::open(path_);
  HttpRequest request{.method = "POST", .path = "/api/v1/captures"};
  request.query = {{"a b", "c"}};
  request.body = std::string(2 * AuditLog::kMostBodyBytes, 'x');
  request.peer = "h:1";
  request.token_name = "ann";
  int status = 0;
  AuditLog::noting(log_, Scope::kControl, request,
                   [&](const HttpResponse& response) { status = response.status; })(HttpResponse{.status = 415});
  EXPECT_EQ(status, 415);
  const std::string text = text_of(path_);
  EXPECT_NE(text.find(R"("request":"POST /api/v1/captures?a%20b=c","body":")"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("status":415})"), std::string::npos);
  EXPECT_LT(text.size(), AuditLog::kMostBodyBytes + 300);
}

TEST_F(AuditLogTest, AFileThatCannotBeOpenedIsNamed) {
  const auto log = AuditLog::open("/nowhere/audit");
  ASSERT_FALSE(log.ok());
  EXPECT_NE(log.error().message.find("/nowhere/audit"), std::string::npos);
}

}  // namespace
}  // namespace fathom::net
