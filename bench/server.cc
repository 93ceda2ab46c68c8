#include "bench/server.h"

#include <stdlib.h>

#include <boost/json.hpp>
#include <cstring>
#include <filesystem>

namespace fathom::bench {

Result<std::string> make_run_directory(const std::string& parent) {
  std::string path = parent + "/fathom-bench-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) return unavailable("cannot make " + path + ": " + std::strerror(errno));
  return path;
}

std::string beside_this_program(const std::string& name) {
  std::error_code ignored;
  return (std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / name).string();
}

Result<std::string> address_in(const std::string& line, std::string_view key) {
  boost::system::error_code error;
  boost::json::value parsed = boost::json::parse(line, error);
  const boost::json::object* object = error ? nullptr : parsed.if_object();
  const boost::json::value* found = object ? object->if_contains(key) : nullptr;
  if (found == nullptr || !found->is_string()) return corrupt("no \"" + std::string(key) + "\" in: " + line);
  return std::string(found->get_string());
}

Result<std::unique_ptr<Server>> Server::start(const ServerOptions& options) {
  Result<std::string> directory = make_run_directory(options.work_directory);
  if (!directory) return directory.error();
  std::unique_ptr<Server> server(new Server);
  server->directory_ = *directory;
  server->data_ = options.data_directory.empty() ? *directory + "/data" : options.data_directory;
  server->log_ = *directory + "/server.log";
  ChildOptions child{{options.program, "--data", server->data_, "--http", "127.0.0.1:0", "--otlp-grpc", "127.0.0.1:0",
                      "--otlp-http", "127.0.0.1:0"},
                     {{"FATHOM_SETTLE_ON_EXIT", "1"}},
                     server->log_};
  child.command.insert(child.command.end(), options.arguments.begin(), options.arguments.end());
  Result<std::string> line = server->process_.start(child);
  if (!line) {
    server->directory_.clear();  // its log stays for whoever looks
    return line.error();
  }
  Result<std::string> http = address_in(*line, "http");
  Result<std::string> grpc = address_in(*line, "otlp_grpc");
  Result<std::string> otlp_http = address_in(*line, "otlp_http");
  for (const auto* address : {&http, &grpc, &otlp_http}) {
    if (!*address) return address->error();
  }
  server->http_ = *http;
  server->otlp_http_ = *otlp_http;
  server->otlp_grpc_ = *grpc;
  // Servers of before there were agents can be measured, too.
  if (Result<std::string> ingest = address_in(*line, "ingest")) server->ingest_ = *ingest;
  server->cpu_seconds_at_ready_ = server->process_.cpu_seconds();
  return server;
}

Server::~Server() {
  if (process_.running()) (void)process_.stop();
  std::error_code ignored;
  if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
}

Result<Server::Settled> Server::settle_and_stop() {
  if (!process_.running()) {
    std::string log = log_;
    directory_.clear();
    return unavailable("the server died; see " + log);
  }
  Result<ChildUsage> usage = process_.stop();
  if (!usage) return usage.error();
  if (usage->exit_status != 0) {
    directory_.clear();
    return unavailable("the server ended with status " + std::to_string(usage->exit_status) + "; see " + log_);
  }
  return Settled{usage->cpu_seconds - cpu_seconds_at_ready_, usage->rss_max_mib, disk_use(data_)};
}

}  // namespace fathom::bench
