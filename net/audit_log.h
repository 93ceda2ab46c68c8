// AuditLog: who asked for what, and what came of it.
//
// Purpose: with a file, a line of JSON for each request that needs a token: {"time", "token", "peer", "scope",
// "request", "body", "status"}; `body` of control requests alone, not of a purge, which names what must not be kept.
// Without a file, the program's log gets a line for each control request and each purge. Thread safety: all of it.
// Ownership: of the file. Errors: open() and open_again(): kInternal, naming the file. An entry that cannot be written
// is lost: fathom_lost_audit_entries_total, and a warning in the log, once a second at most.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/log_pace.h"
#include "base/result.h"
#include "net/http_server.h"
#include "net/scopes.h"

namespace fathom::net {

struct AuditEntry {
  std::string token_name;  // empty: no token was asked for
  std::string peer;        // "HOST:PORT"
  Scope scope = Scope::kQuery;
  std::string request;  // "GET /api/v1/slowest?since=1h", or a method of gRPC
  std::string body;     // of a control request, its first kMostBodyBytes
  int status = 0;       // of HTTP; 0: not known
};

class AuditLog {
 public:
  static constexpr size_t kMostBodyBytes = 16384;  // as much as such a request may have

  // An empty path: the program's log.
  static Result<std::shared_ptr<AuditLog>> open(const std::string& path);
  // After the file was renamed: a new one of its name, which is in use from use() on.
  Result<Fd> open_again() const;
  void use(Fd file);

  void note(const AuditEntry& entry);
  // What answers the request, and notes it.
  static HttpRespond noting(std::shared_ptr<AuditLog> log, Scope scope, const HttpRequest& request,
                            HttpRespond respond);

 private:
  explicit AuditLog(std::string path) : path_(std::move(path)) {}
  void append(const AuditEntry& entry);
  void lose();

  const std::string path_;
  std::mutex mutex_;
  Fd file_;
  LogPace pace_;
};

// The file's line, without its end.
std::string audit_line(const AuditEntry& entry, uint64_t unix_nano);

}  // namespace fathom::net
