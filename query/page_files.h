// PageFiles: the page's built files in memory, as answers to a browser.
//
// Purpose: the server has one directory of files to give, and reads it once, at its start: no request ever names a
// file. What has a hash in its name (/assets/) may be kept by browsers for ever; index.html is asked for anew, and is
// the answer to every address of the page's own. Thread safety: immutable. Units: bytes. Errors: read() says what is
// wrong with the directory; kNotFound when there is none.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/http_server.h"

namespace fathom::query {

inline constexpr uint64_t kMostPageBytes = 16 << 20;
inline constexpr size_t kMostPageFiles = 500;

class PageFiles {
 public:
  // No files: then a browser is told how to get a page.
  PageFiles() = default;
  static Result<PageFiles> read(const std::string& directory);

  bool empty() const { return files_.empty(); }
  // Nothing: the request is for none of the page's files and addresses, or not a browser's.
  std::optional<net::HttpResponse> answer(const net::HttpRequest& request) const;
  // For a browser at an address that nothing is at: the page, which says so and leads on, with status 404. Nothing: not
  // a browser's request for a page.
  std::optional<net::HttpResponse> lost(const net::HttpRequest& request) const;

 private:
  struct File {
    std::string content_type;
    std::string body;
    std::string packed;  // gzip; empty where that is not shorter
    std::string etag;    // without its quotes
    bool immutable = false;
  };

  static net::HttpResponse give(const File& file, const net::HttpRequest& request);

  std::map<std::string, File, std::less<>> files_;  // by path, "/index.html"
};

// "/", "/trace/ID", "/services", ...: what the page shows by itself.
bool is_page_address(std::string_view path);

// For a browser that asks a server without a page: what it can do, and `welcome`.
net::HttpResponse no_page_response(std::string_view welcome);

}  // namespace fathom::query
