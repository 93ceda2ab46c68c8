#include "apps/server/options.h"

#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <map>
#include <utility>

#include "base/log.h"
#include "cli/config_file.h"
#include "cli/filter_flags.h"
#include "cli/query_token.h"
#include "cli/server_flags.h"
#include "cli/sizes.h"
#include "redact/key_file.h"
#include "redact/redactor.h"

namespace fathom {

namespace {

constexpr uint64_t kMostCount = 1'000'000;
constexpr uint64_t kLeastRetentionBytes = 16 << 20;  // logs and a range that is still filling take some of it
constexpr uint64_t kLeastCaptureBytes = 80 << 20;    // one capture may have 64 MiB
constexpr uint64_t kLeastSnapshotBytes = 256 << 20;  // a program's images alone may take half of it

cli::CommandLine make_line() {
  return {
      "fathom-server",
      "takes spans over OTLP, keeps them, and answers questions about them",
      "Usually started by 'fathom up' or systemd, which start it again should it die. The log goes to standard error. "
      "SIGTERM and SIGINT end it: requests under way are answered first. SIGHUP has it read --config, certificates and "
      "tokens again. The exit status is 0 then, 2 for a wrong "
      "command line or configuration file, 5 when it cannot start, and 7 when the data directory cannot be used: then "
      "supervisors must not start it again. "
      "'fathom-server revert-upgrade DIR' restores the data directory DIR as it was before the last upgrade of its "
      "format; stop the server first. Data received since is lost. 'fathom-server commit-upgrade DIR' deletes the copy "
      "that a revert needs, also while the server runs. Both exit with 0, or with 5 and the reason. "
      "An empty file accept-clock in the data directory tells a running server that the wall clock is right after a "
      "boot. Retention by age then resumes at once, and the server removes the file.",
      {},
      cli::join({cli::config_flags(),
                 cli::place_flags(),
                 cli::listener_security_flags(),
                 cli::server_flags(),
                 {{"--ready-fd", "N", "a descriptor that gets one line of JSON, the addresses, when all is ready", "",
                   false, true}}}),
      {{"fathom-server --print-config > server.conf", "every key, with its default"},
       {"fathom-server --config server.conf --log-level debug", "flags go before the file"},
       {"fathom-server --data /srv/fathom --durability os", "faster acknowledgements, less durable"},
       {"fathom-server revert-upgrade /var/lib/fathom", "before an older version is installed again"},
       {"touch /var/lib/fathom/accept-clock", "the wall clock is right; end the pause of retention by age"}}};
}

// Reads flags one after another and keeps the first error.
class Reader {
 public:
  explicit Reader(const cli::Args& args) : args_(args) {}

  uint64_t size(const char* flag, uint64_t most) {
    uint64_t bytes = take(args_.size_bytes(flag));
    if (bytes > most) fault(std::string(flag) + " can be " + std::to_string(most) + " bytes at most");
    return bytes;
  }
  // Whoever means gigabytes and names no unit must not find that all but fifty bytes were deleted.
  uint64_t size_to_keep(const char* flag, uint64_t least) {
    uint64_t bytes = large_size(flag);
    if (bytes != 0 && bytes < least) {
      fault(std::string(flag) + ": '" + args_.get(flag) + "' is " + cli::format_size(bytes) +
            ", too little to keep anything in; write " + std::to_string(least >> 20) +
            "MiB or more, as in 50GiB, or 0 for no limit");
    }
    return bytes;
  }
  // Batches that agents made before the server's first word would find no room in less, however often they came.
  uint64_t ingest_memory(const char* flag) {
    uint64_t bytes = large_size(flag);
    if (bytes >= collector::kLeastBudgetBytes) return bytes;
    std::string least = cli::format_size(collector::kLeastBudgetBytes);
    log_warning(std::string(flag) + ": '" + args_.get(flag) + "' is too little for the batches that agents send; " +
                least + " are used");
    return collector::kLeastBudgetBytes;
  }
  uint32_t small_size(const char* flag) { return static_cast<uint32_t>(size(flag, UINT32_MAX / 4)); }
  uint64_t large_size(const char* flag) { return size(flag, UINT64_MAX); }
  // Of what nothing could be done with none of.
  uint64_t some(const char* flag, uint64_t amount) {
    if (amount == 0) fault(std::string(flag) + ": with 0 all would be refused; leave it out for the default");
    return amount;
  }
  uint32_t count(const char* flag, uint64_t least = 0, uint64_t most = kMostCount) {
    return static_cast<uint32_t>(take(args_.number(flag, least, most)));
  }
  uint64_t duration(const char* flag) { return take(args_.duration_nano(flag)); }
  std::string choice(const char* flag, const std::vector<std::string>& choices) {
    Result<std::string> chosen = args_.one_of(flag, choices);
    if (!chosen) fault(chosen.error().message);
    return chosen ? *chosen : "";
  }
  std::string address(const char* flag) {
    Result<std::string> address = args_.address(flag);
    if (!address) fault(address.error().message);
    return address ? *address : "";
  }
  std::string ingest_address() {
    Result<std::string> address = cli::ingest_address(args_);
    if (!address) fault(address.error().message);
    return address ? *address : "";
  }
  // One that is not there is no reason not to start: all but the text is shown.
  std::vector<snapshot::SourceDirectory> source_directories(const char* flag) {
    auto directories = snapshot::parse_source_directories(args_.all(flag));
    if (!directories) fault(std::string(flag) + ": " + directories.error().message);
    if (!directories) return {};
    for (const snapshot::SourceDirectory& one : *directories) {
      if (::access(one.to.c_str(), R_OK | X_OK) == 0) continue;
      log_warning(std::string(flag) + ": no source is shown of " + one.to +
                  ", which cannot be read: " + std::strerror(errno));
    }
    return *std::move(directories);
  }
  std::string text(const char* flag) const { return args_.get(flag); }
  bool has(const char* flag) const { return args_.has(flag); }
  void fault(std::string message) {
    if (!error_) error_ = invalid(std::move(message));
  }
  const std::optional<Error>& error() const { return error_; }

 private:
  uint64_t take(const Result<uint64_t>& value) {
    if (!value) fault(value.error().message);
    return value ? *value : 0;
  }
  const cli::Args& args_;
  std::optional<Error> error_;
};

void read_store(Reader& reader, store::RocksOptions& store) {
  bool fsync = reader.choice("--durability", {"fsync", "os"}) == "fsync";
  store.durability = fsync ? store::Durability::kFsync : store::Durability::kOs;
  store.retention_age_nano = reader.duration("--retention-age");
  store.retention_bytes = reader.size_to_keep("--retention-size", kLeastRetentionBytes);
  store.capture_bytes = reader.size_to_keep("--retention-captures", kLeastCaptureBytes);
  store.reserve_disk_bytes = reader.large_size("--reserve-disk");
  store.cache_bytes = reader.large_size("--cache");
  store.operations_per_service = reader.count("--operations-per-service", 1);
  store.services = reader.count("--services", 1);
  store.catalogue_bytes = reader.large_size("--catalogue-memory");
  store.listed_attribute_keys = reader.count("--listed-attribute-keys", 1, store::block::kMaxListedKeys);
}

void read_limits(Reader& reader, store::BatchLimits& limits) {
  limits.attributes_per_span = reader.count("--attributes-per-span");
  limits.events_per_span = reader.count("--events-per-span");
  limits.links_per_span = reader.count("--links-per-span");
  limits.bytes_per_value = reader.small_size("--bytes-per-value");
  limits.bytes_per_name = reader.small_size("--bytes-per-name");
}

void read_collector(Reader& reader, collector::CollectorOptions& collector) {
  collector.otlp_grpc_address = reader.address("--otlp-grpc");
  collector.otlp_http_address = reader.address("--otlp-http");
  collector.ingest_address = reader.ingest_address();
  collector.version = FATHOM_VERSION;
  collector.max_request_bytes =
      reader.some("--max-request-bytes", reader.size("--max-request-bytes", INT_MAX));  // what gRPC can count to
  collector.budget_bytes = reader.ingest_memory("--ingest-memory");
  collector.grpc_connection_age_nano = reader.duration("--grpc-connection-age");
  collector.cors_allow_origin = reader.text("--cors-allow-origin");
  read_limits(reader, collector.limits);
}

void read_thresholds(Reader& reader, collector::LearnerOptions& thresholds) {
  thresholds.floor_nano = reader.duration("--capture-floor");
  if (!reader.text("--capture-threshold").empty()) thresholds.unlearnt_nano = reader.duration("--capture-threshold");
}

void read_query(Reader& reader, query::QueryOptions& query) {
  query.http_address = reader.address("--http");
  if (!reader.text("--query-grpc").empty()) query.grpc_address = reader.address("--query-grpc");
  query.grpc_connection_age_nano = reader.duration("--grpc-connection-age");
  query.threads = reader.count("--query-threads", 1, 1024);
  query.deadline_nano = reader.some("--query-deadline", reader.duration("--query-deadline"));
  query.max_deadline_nano = std::max<uint64_t>(query.max_deadline_nano, query.deadline_nano);
  query.byte_budget = reader.some("--query-bytes", reader.large_size("--query-bytes"));
  query.version = FATHOM_VERSION;
}

// They live as long as spans do, and leave the disk to them first.
void read_snapshots(Reader& reader, ServerOptions& options) {
  query::SnapshotOptions& snapshots = options.snapshots;
  // Not DATA/snapshots: where the data directory is a person's default one, that is where their own snapshots lie.
  snapshots.path = options.store.path + "/server-snapshots";
  snapshots.most_bytes = reader.size_to_keep("--retention-snapshots", kLeastSnapshotBytes);
  snapshots.retention_age_nano = options.store.retention_age_nano;
  snapshots.reserve_disk_bytes = options.store.reserve_disk_bytes;
  options.query.snapshot_workers = reader.count("--snapshot-workers", 1, 64);
  options.snapshot_worker = reader.text("--snapshot-worker");
  options.is_worker_unsafe = reader.has("--unsafe-worker");
  snapshots.source_directories = reader.source_directories("--source-dir");
}

// The second one would find its port taken, by a program that the user would look for in vain: us.
void check_addresses(Reader& reader, const ServerOptions& options) {
  std::map<std::string, std::string> taken;
  const std::pair<const char*, std::string> listeners[] = {{"--http", options.query.http_address},
                                                           {"--query-grpc", options.query.grpc_address},
                                                           {"--otlp-grpc", options.collector.otlp_grpc_address},
                                                           {"--otlp-http", options.collector.otlp_http_address},
                                                           {"--ingest", options.collector.ingest_address}};
  for (const auto& [flag, address] : listeners) {
    if (address.empty() || address.ends_with(":0")) continue;
    const auto [other, is_new] = taken.emplace(address, flag);
    if (!is_new) {
      reader.fault(std::string(flag) + ": " + address + " is that of " + other->second + ", too; each wants its own");
    }
  }
}

void read_security(Reader& reader, const cli::Args& args, ServerOptions& options) {
  auto files = cli::listener_files(
      args, {options.query.http_address, options.query.grpc_address, options.collector.otlp_grpc_address,
             options.collector.otlp_http_address, options.collector.ingest_address});
  if (!files) return reader.fault(files.error().message);
  options.security = *std::move(files);
  auto token_file = cli::query_token_file(
      args.given("--query-token-file"),
      {options.security, {options.query.http_address, options.query.grpc_address}, options.store.path});
  if (!token_file) return reader.fault(token_file.error().message);
  options.query_token_file = *std::move(token_file);
  options.audit_log = reader.text("--audit-log");
}

void read_redaction(Reader& reader, const cli::Args& args, ServerOptions& options) {
  options.redact_rules = args.all("--redact");
  if (auto redactor = Redactor::make(options.redact_rules, {}); !redactor) reader.fault(redactor.error().message);
  options.redact_key_file = reader.text("--redact-key-file");
  if (args.given("--redact-key-file") && options.redact_key_file.empty()) {
    reader.fault("--redact-key-file: names no file; leave it out for DATA/redact-key");
  }
  if (options.redact_key_file.empty()) options.redact_key_file = options.store.path + "/" + kRedactKeyFile;
}

}  // namespace

const cli::CommandLine& server_command_line() {
  static const cli::CommandLine kLine = make_line();
  return kLine;
}

Result<ServerOptions> server_options(const cli::Args& args, const std::optional<std::string>& xdg_data_home,
                                     const std::optional<std::string>& home) {
  ServerOptions options;
  Reader reader(args);
  options.store.path = reader.text("--data");
  if (args.given("--data") && options.store.path.empty()) reader.fault("--data: the directory's name is empty");
  if (options.store.path.empty()) options.store.path = cli::default_data_directory(xdg_data_home, home);
  if (options.store.path.empty()) reader.fault("there is no home directory to keep data in; say where: --data DIR");
  read_store(reader, options.store);
  read_collector(reader, options.collector);
  read_query(reader, options.query);
  read_thresholds(reader, options.thresholds);
  read_snapshots(reader, options);
  options.page = reader.text("--page");
  check_addresses(reader, options);
  read_security(reader, args, options);
  read_redaction(reader, args, options);
  if (Result<LogLevel> level = cli::log_level(args); !level) reader.fault(level.error().message);
  if (args.given("--ready-fd")) options.ready_fd = static_cast<int>(reader.count("--ready-fd", 1, 1023));
  if (reader.error()) return *reader.error();
  return options;
}

}  // namespace fathom
