#include "cli/reload.h"

#include <algorithm>

namespace fathom::cli {

namespace {

std::string joined_keys(const std::vector<std::string>& keys) {
  std::string text;
  for (const std::string& key : keys) text += (text.empty() ? "" : ",") + key;
  return text;
}

bool names_files(const Args& args) {
  const auto named = [&](const char* flag) { return args.given(flag).has_value(); };
  return named("--tls-certificate") || named("--token-file") || named("--collector-ca") ||
         named("--collector-certificate") || named("--collector-token-file");
}

}  // namespace

Reloader::Reloader(const CommandLine& line, Settings settings, std::vector<std::string> keys, Apply apply)
    : line_(line),
      started_with_(settings),
      settings_(std::move(settings)),
      keys_(std::move(keys)),
      apply_(std::move(apply)) {}

void Reloader::reload() {
  Result<Settings> anew = read_again(line_, settings_);
  Result<LogLevel> level = anew ? log_level(anew->args) : Result<LogLevel>(LogLevel::kInfo);
  Result<> applied = !anew ? Result<>(anew.error()) : !level ? Result<>(level.error()) : apply_(*anew);
  if (!applied) {
    const Error why = anew ? anew->located(applied.error()) : applied.error();
    return log_error("the configuration is not read again, all stays as it was: " + why.message);
  }
  const std::vector<std::string> changed = changed_keys(line_, settings_.args, anew->args);
  settings_ = *std::move(anew);
  report(changed);
  set_log_level(*level);
}

void Reloader::report(const std::vector<std::string>& changed) {
  std::vector<std::string> effective;
  for (const std::string& key : changed) {
    if (std::find(keys_.begin(), keys_.end(), key) != keys_.end()) effective.push_back(key);
  }
  // What was changed before and still waits is said again.
  std::vector<std::string> waiting = changed_keys(line_, started_with_.args, settings_.args);
  std::erase_if(waiting,
                [&](const std::string& key) { return std::find(keys_.begin(), keys_.end(), key) != keys_.end(); });
  log_info("read again: changed=" + (effective.empty() ? "nothing" : joined_keys(effective)) +
           (names_files(started_with_.args) ? ", certificates and tokens loaded anew" : ""));
  if (!waiting.empty()) log_warning("these keys take effect after a restart: " + joined_keys(waiting));
}

bool can_reload(const Args& args) {
  const auto given = [&](const char* flag) { return args.given(flag).has_value(); };
  return given("--config") || given("--tls-certificate") || given("--token-file") || given("--audit-log");
}

}  // namespace fathom::cli
