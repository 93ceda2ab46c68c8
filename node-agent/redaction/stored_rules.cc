#include "node-agent/redaction/stored_rules.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>
#include <variant>

#include "base/fd.h"
#include "base/secret_file.h"
#include "base/small_file.h"
#include "ingest/collector_messages.h"

namespace fathom::agent {

Result<> store_rules(const std::string& path, const ingest::RedactionRules& rules) {
  if (rules.fingerprint.empty()) {
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) return system_error("cannot remove " + path);
    return {};
  }
  const std::string made = path + ".new";
  ::unlink(made.c_str());  // of an agent that was killed
  if (Result<> written = make_secret_file(made, encode(rules), "file of redaction rules"); !written) return written;
  if (std::rename(made.c_str(), path.c_str()) != 0) return system_error("cannot rename to " + path);
  return {};
}

Result<ingest::RedactionRules> load_rules(const std::string& path) {
  if (::access(path.c_str(), F_OK) != 0 && errno == ENOENT) return ingest::RedactionRules();
  Result<std::string> content = read_small_file(path);
  if (!content) return content.error();
  Result<ingest::CollectorMessage> message = ingest::parse_collector_message(*content);
  auto* rules = message ? std::get_if<ingest::Asked<ingest::RedactionRules>>(&*message) : nullptr;
  if (rules == nullptr || !rules->fault.empty() || rules->request.fingerprint.empty()) {
    return invalid(path + " is damaged; it is replaced when the server is connected");
  }
  return std::move(rules->request);
}

}  // namespace fathom::agent
