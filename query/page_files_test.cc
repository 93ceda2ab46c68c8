#include "query/page_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/testing/temp_directory.h"
#include "net/gzip.h"

namespace fathom::query {
namespace {

namespace fs = std::filesystem;

class PageFilesTest : public ::testing::Test {
 protected:
  PageFilesTest() {
    write("index.html", "<!doctype html><title>fathom</title>");
    write("assets/index-1a2b.js", std::string(5000, 'x'));
    write("icon.svg", "<svg/>");
    write("notes.txt", "not for browsers");
  }

  void write(const std::string& name, const std::string& body) {
    fs::create_directories((directory_ / name).parent_path());
    std::ofstream(directory_ / name, std::ios::binary) << body;
  }
  PageFiles read() const {
    Result<PageFiles> page = PageFiles::read(directory_.string());
    EXPECT_TRUE(page.ok()) << page.error().message;
    return page ? *std::move(page) : PageFiles();
  }

  TempDirectory scratch_;
  const fs::path directory_ = scratch_.path();
};

using Headers = std::vector<std::pair<std::string, std::string>>;

net::HttpRequest get(std::string path, Headers headers = {{"accept", "text/html,application/xhtml+xml,*/*;q=0.8"}}) {
  net::HttpRequest request;
  request.method = "GET";
  request.path = std::move(path);
  request.headers = std::move(headers);
  return request;
}

std::string header(const net::HttpResponse& response, std::string_view name) {
  for (const auto& [key, value] : response.headers) {
    if (key == name) return value;
  }
  return "";
}

TEST_F(PageFilesTest, BrowsersGetThePageAtItsOwnAddresses) {
  PageFiles page = read();
  for (const char* path : {"/", "/explore", "/services", "/nodes", "/captures", "/snapshots", "/trace/ab12",
                           "/trace/ab12/timeline", "/capture/1", "/snapshot/2"}) {
    auto answer = page.answer(get(path));
    ASSERT_TRUE(answer.has_value()) << path;
    EXPECT_EQ(answer->status, 200);
    EXPECT_EQ(answer->content_type, "text/html; charset=utf-8");
    EXPECT_EQ(answer->body, "<!doctype html><title>fathom</title>");
    EXPECT_EQ(header(*answer, "Cache-Control"), "no-cache");
    EXPECT_EQ(header(*answer, "X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(header(*answer, "Referrer-Policy"), "no-referrer");
    EXPECT_NE(header(*answer, "Content-Security-Policy").find("default-src 'self';"), std::string::npos);
  }
}

TEST_F(PageFilesTest, ProgramsAndOtherAddressesDoNot) {
  PageFiles page = read();
  EXPECT_FALSE(page.answer(get("/", {{"accept", "*/*"}})).has_value());
  EXPECT_FALSE(page.answer(get("/", {})).has_value());
  for (const char* path : {"/trace", "/trace/", "/trace/a/b", "/trace/a/timeline/b", "/capture/1/timeline", "/metrics",
                           "/api/v1/status", "/services/1", "//", ""}) {
    EXPECT_FALSE(page.answer(get(path)).has_value()) << path;
  }
}

TEST_F(PageFilesTest, ABrowserThatIsLostGetsThePageThatSaysSo) {
  PageFiles page = read();
  auto answer = page.lost(get("/nonsense"));
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->status, 404);
  EXPECT_EQ(answer->content_type, "text/html; charset=utf-8");
  EXPECT_EQ(answer->body, "<!doctype html><title>fathom</title>");
  EXPECT_FALSE(page.lost(get("/api/v1/nonsense")).has_value());
  EXPECT_FALSE(page.lost(get("/nonsense", {{"accept", "*/*"}})).has_value());
  EXPECT_FALSE(PageFiles().lost(get("/nonsense")).has_value());
}

TEST_F(PageFilesTest, OnlyWhatWasReadAtTheStartHasAName) {
  PageFiles page = read();
  write("late.js", "late");
  std::ofstream(directory_.string() + "-secret.js") << "secret";
  fs::create_symlink("/etc/hostname", directory_ / "linked.js");
  PageFiles again = read();
  for (const char* path : {"/late.js", "/notes.txt", "/../index.html", "/assets/../index.html", "/assets", "/assets/",
                           "/./index.html", "//index.html", "/assets//index-1a2b.js"}) {
    EXPECT_FALSE(page.answer(get(path)).has_value()) << path;
  }
  EXPECT_TRUE(again.answer(get("/late.js")).has_value());
  EXPECT_FALSE(again.answer(get("/linked.js")).has_value());
  EXPECT_FALSE(again.answer(get("/../" + directory_.filename().string() + "-secret.js")).has_value());
  fs::remove(directory_.string() + "-secret.js");
}

TEST_F(PageFilesTest, AssetsAreKeptForEverAndPacked) {
  PageFiles page = read();
  auto plain = page.answer(get("/assets/index-1a2b.js", {}));
  ASSERT_TRUE(plain.has_value());
  EXPECT_EQ(header(*plain, "Cache-Control"), "public, max-age=31536000, immutable");
  EXPECT_EQ(header(*plain, "Content-Encoding"), "");
  EXPECT_EQ(plain->body.size(), 5000u);
  auto packed = page.answer(get("/assets/index-1a2b.js", {{"accept-encoding", "br, gzip"}}));
  EXPECT_EQ(header(*packed, "Content-Encoding"), "gzip");
  EXPECT_LT(packed->body.size(), 200u);
  EXPECT_EQ(*net::gunzip(packed->body, 10000, [](uint64_t) { return true; }), plain->body);
  EXPECT_NE(header(*packed, "ETag"), header(*plain, "ETag"));
  EXPECT_EQ(header(*page.answer(get("/icon.svg", {})), "Cache-Control"), "no-cache");
}

TEST_F(PageFilesTest, WhatTheAskerHasIsNotSentAgain) {
  PageFiles page = read();
  std::string etag = header(*page.answer(get("/icon.svg", {})), "ETag");
  ASSERT_FALSE(etag.empty());
  for (const std::string& known : {etag, "W/" + etag, "\"other\", " + etag, std::string("*")}) {
    auto answer = page.answer(get("/icon.svg", {{"if-none-match", known}}));
    EXPECT_EQ(answer->status, 304) << known;
    EXPECT_TRUE(answer->body.empty());
    EXPECT_EQ(header(*answer, "ETag"), etag);
  }
  EXPECT_EQ(page.answer(get("/icon.svg", {{"if-none-match", "\"other\""}}))->status, 200);
  write("icon.svg", "<svg></svg>");
  EXPECT_EQ(read().answer(get("/icon.svg", {{"if-none-match", etag}}))->status, 200);
}

TEST_F(PageFilesTest, ADirectoryThatIsNotThePagesIsRefused) {
  EXPECT_EQ(PageFiles::read((directory_ / "nothing").string()).error().code, ErrorCode::kNotFound);
  for (size_t i = 0; i <= kMostPageFiles; ++i) write("many/" + std::to_string(i) + ".js", "");
  EXPECT_EQ(PageFiles::read(directory_.string()).error().code, ErrorCode::kInvalid);
  fs::remove_all(directory_ / "many");
  write("large.js", std::string(kMostPageBytes + 1, 'x'));
  EXPECT_EQ(PageFiles::read(directory_.string()).error().code, ErrorCode::kInvalid);
  fs::remove(directory_ / "large.js");
  fs::remove(directory_ / "index.html");
  EXPECT_EQ(PageFiles::read(directory_.string()).error().code, ErrorCode::kNotFound);
}

TEST(NoPage, IsSaidInPlainWords) {
  net::HttpResponse answer = no_page_response("GET /x?a=1&b=<2>\n");
  EXPECT_EQ(answer.status, 200);
  EXPECT_NE(answer.body.find("./dev build"), std::string::npos);
  EXPECT_NE(answer.body.find("GET /x?a=1&amp;b=&lt;2>"), std::string::npos);
  EXPECT_FALSE(header(answer, "Content-Security-Policy").empty());
  EXPECT_FALSE(PageFiles().answer(get("/")).has_value());
}

}  // namespace
}  // namespace fathom::query
