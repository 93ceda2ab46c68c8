#include "query/page_files.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "base/hash.h"
#include "net/gzip.h"
#include "query/accepts.h"

namespace fathom::query {

namespace {

namespace fs = std::filesystem;
using net::HttpRequest;
using net::HttpResponse;

constexpr int kBestPacking = 9;  // once, at the start

constexpr std::string_view kPolicy =
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'";

constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kTypes{{
    {".html", "text/html; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".svg", "image/svg+xml"},
    {".json", "application/json"},
    {".woff2", "font/woff2"},
}};

std::string_view type_of(const std::string& extension) {
  for (auto [known, type] : kTypes) {
    if (known == extension) return type;
  }
  return {};
}

std::string hex(uint64_t number) {
  std::ostringstream text;
  text << std::hex << number;
  return text.str();
}

// What every answer of the page says to a browser.
void add_page_headers(HttpResponse& response) {
  response.headers.emplace_back("Content-Security-Policy", kPolicy);
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  response.headers.emplace_back("Referrer-Policy", "no-referrer");
}

std::vector<std::string_view> segments(std::string_view path) {
  std::vector<std::string_view> found;
  for (size_t at = 1; at <= path.size();) {
    size_t end = std::min(path.find('/', at), path.size());
    found.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  return found;
}

Result<std::string> contents(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::string body{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!in.good() && !in.eof()) return unavailable("cannot read " + path.string());
  return body;
}

struct Found {
  fs::path path;
  std::string name;  // "/assets/index.js"
};

// Files of known types, below `directory`; what a link leads to elsewhere is none of them.
Result<std::vector<Found>> list_files(const std::string& directory) {
  std::error_code fault;
  std::vector<Found> found;
  uint64_t bytes = 0;
  if (!fs::is_directory(directory, fault)) return not_found("there is no directory " + directory);
  for (auto at = fs::recursive_directory_iterator(directory, fault); !fault && at != fs::end(at); at.increment(fault)) {
    std::error_code gone;
    if (at->is_symlink(gone) || !at->is_regular_file(gone) || type_of(at->path().extension()).empty()) continue;
    uint64_t size = at->file_size(gone);
    if (!gone) bytes += size;
    found.push_back({at->path(), "/" + at->path().lexically_relative(directory).generic_string()});
    if (bytes > kMostPageBytes || found.size() > kMostPageFiles) {
      return invalid(directory + " is not the page's: it has more than " + std::to_string(kMostPageFiles) +
                     " files or " + std::to_string(kMostPageBytes >> 20) + " MiB");
    }
  }
  if (fault) return unavailable("cannot read " + directory + ": " + fault.message());
  return found;
}

bool is_known_to_asker(const HttpRequest& request, const std::string& etag) {
  std::string_view known = request.header("if-none-match");
  return known == "*" || known.find("\"" + etag + "\"") != std::string_view::npos;
}

}  // namespace

Result<PageFiles> PageFiles::read(const std::string& directory) {
  Result<std::vector<Found>> found = list_files(directory);
  if (!found) return found.error();
  PageFiles page;
  for (const Found& one : *found) {
    Result<std::string> body = contents(one.path);
    if (!body) return body.error();
    File file{std::string(type_of(one.path.extension())), *std::move(body), "", "", one.name.starts_with("/assets/")};
    file.packed = net::gzip(file.body, kBestPacking);
    if (file.packed.size() >= file.body.size()) file.packed.clear();
    file.etag = hex(hash64(file.body));
    page.files_.emplace(one.name, std::move(file));
  }
  if (!page.files_.contains("/index.html")) return not_found("there is no index.html in " + directory);
  return page;
}

std::optional<HttpResponse> PageFiles::answer(const HttpRequest& request) const {
  if (empty()) return std::nullopt;
  bool page = is_page_address(request.path) && takes_html(request);
  auto found = files_.find(page ? std::string_view("/index.html") : std::string_view(request.path));
  if (found == files_.end()) return std::nullopt;
  return give(found->second, request);
}

std::optional<HttpResponse> PageFiles::lost(const HttpRequest& request) const {
  if (empty() || request.path.starts_with("/api/") || !takes_html(request)) return std::nullopt;
  HttpResponse response = give(files_.at("/index.html"), request);
  if (response.status == 200) response.status = 404;
  return response;
}

HttpResponse PageFiles::give(const File& file, const HttpRequest& request) {
  HttpResponse response{.content_type = file.content_type};
  add_page_headers(response);
  bool packed = !file.packed.empty() && takes_gzip(request);
  std::string etag = file.etag + (packed ? "-gzip" : "");
  response.headers.emplace_back("Cache-Control", file.immutable ? "public, max-age=31536000, immutable" : "no-cache");
  response.headers.emplace_back("Vary", "Accept, Accept-Encoding");
  response.headers.emplace_back("ETag", "\"" + etag + "\"");
  if (is_known_to_asker(request, etag)) {
    response.status = 304;
    return response;
  }
  if (packed) response.headers.emplace_back("Content-Encoding", "gzip");
  response.body = packed ? file.packed : file.body;
  return response;
}

bool is_page_address(std::string_view path) {
  if (path == "/") return true;
  std::vector<std::string_view> parts = segments(path);
  if (parts.empty()) return false;
  std::string_view first = parts[0];
  if (parts.size() == 1) {
    return first == "explore" || first == "services" || first == "nodes" || first == "captures" || first == "snapshots";
  }
  bool of_one = !parts[1].empty() && (first == "trace" || first == "capture" || first == "snapshot");
  return of_one && (parts.size() == 2 || (parts.size() == 3 && first == "trace" && parts[2] == "timeline"));
}

HttpResponse no_page_response(std::string_view welcome) {
  std::string body =
      "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>fathom</title></head><body>"
      "<h1>fathom runs, but its page is not here</h1>"
      "<p>This server was started without the page's files. Where fathom was built from source, "
      "<code>./dev build</code> makes them (it needs Node.js 18 or newer, and npm); then start the server again, "
      "or say where they are: <code>fathom-server --page DIR</code>.</p>"
      "<p>Everything else works, from the command line (<code>fathom --help</code>) and over HTTP:</p><pre>";
  for (char letter : welcome) {
    if (letter == '<') {
      body += "&lt;";
    } else if (letter == '&') {
      body += "&amp;";
    } else {
      body += letter;
    }
  }
  HttpResponse response{.content_type = "text/html; charset=utf-8", .body = body + "</pre></body></html>\n"};
  add_page_headers(response);
  response.headers.emplace_back("Cache-Control", "no-cache");
  response.headers.emplace_back("Vary", "Accept");
  return response;
}

}  // namespace fathom::query
