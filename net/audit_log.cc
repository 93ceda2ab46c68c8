#include "net/audit_log.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/metrics.h"
#include "base/time.h"
#include "base/whole_io.h"
#include "net/http_client.h"
#include "net/json_writer.h"

namespace fathom::net {

namespace {

Counter& lost_entries() {
  static Counter& counted =
      counter("fathom_lost_audit_entries_total", "Entries that could not be written to the audit log.");
  return counted;
}

Result<Fd> open_file(const std::string& path) {
  Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, S_IRUSR | S_IWUSR | S_IRGRP));
  if (!file.open()) return system_error("--audit-log: cannot open " + path);
  return file;
}

std::string request_text(const HttpRequest& request) {
  std::string text = request.method + " " + request.path;
  char separator = '?';
  for (const auto& [key, value] : request.query) {
    text += separator + percent_encode(key) + "=" + percent_encode(value);
    separator = '&';
  }
  return text;
}

AuditEntry entry_of(Scope scope, const HttpRequest& request) {
  AuditEntry entry{.token_name = request.token_name,
                   .peer = request.peer,
                   .scope = scope,
                   .request = request_text(request),
                   .body = {}};
  if (scope == Scope::kControl) entry.body = request.body.substr(0, AuditLog::kMostBodyBytes);
  return entry;
}

}  // namespace

std::string audit_line(const AuditEntry& entry, uint64_t unix_nano) {
  std::string text;
  JsonWriter out(text);
  out.begin_object().member("time", format_instant(unix_nano)).member("token", entry.token_name);
  out.member("peer", entry.peer).member("scope", name_of(entry.scope)).member("request", entry.request);
  if (!entry.body.empty()) out.member("body", entry.body);
  if (entry.status != 0) out.member("status", entry.status);
  out.end_object();
  return text;
}

Result<std::shared_ptr<AuditLog>> AuditLog::open(const std::string& path) {
  lost_entries();
  std::shared_ptr<AuditLog> log(new AuditLog(path));
  Result<Fd> file = log->open_again();
  if (!file) return file.error();
  log->use(*std::move(file));
  return log;
}

Result<Fd> AuditLog::open_again() const {
  return path_.empty() ? Result<Fd>(Fd()) : open_file(path_);
}

void AuditLog::use(Fd file) {
  std::lock_guard lock(mutex_);
  file_ = std::move(file);
}

void AuditLog::note(const AuditEntry& entry) {
  if (!path_.empty()) return append(entry);
  if (entry.scope != Scope::kControl && entry.scope != Scope::kPurge) return;
  log_info("audit " + audit_line(entry, now_unix_nano()));
}

// One write for each line: others may append to the file, too.
void AuditLog::append(const AuditEntry& entry) {
  const std::string line = audit_line(entry, now_unix_nano()) + "\n";
  std::lock_guard lock(mutex_);
  if (!write_whole(file_.get(), line, path_)) lose();
}

void AuditLog::lose() {
  lost_entries().add();
  if (pace_.due()) log_warning("cannot write to the audit log " + path_ + "; entries are lost");
}

HttpRespond AuditLog::noting(std::shared_ptr<AuditLog> log, Scope scope, const HttpRequest& request,
                             HttpRespond respond) {
  return [log = std::move(log), entry = entry_of(scope, request),
          respond = std::move(respond)](HttpResponse response) mutable {
    entry.status = response.status;
    log->note(entry);
    respond(std::move(response));
  };
}

}  // namespace fathom::net
