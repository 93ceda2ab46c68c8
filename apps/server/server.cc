#include "apps/server/server.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "apps/server/node_control.h"
#include "apps/server/node_rows.h"
#include "apps/server/page.h"
#include "apps/server/snapshot_sink.h"
#include "apps/server/snapshot_worker.h"
#include "apps/server/view_workers.h"
#include "base/directory_cure.h"
#include "base/log.h"
#include "base/time.h"
#include "cli/exit_codes.h"
#include "net/token_file.h"
#include "redact/key_file.h"
#include "store/purge/purge.h"

namespace fathom {

namespace {

constexpr uint64_t kPatienceNano = 10 * kNanosPerSecond;  // with a predecessor that has not let go of the directory
constexpr uint64_t kRetryNano = kNanosPerSecond / 10;
constexpr uint64_t kCollectorGraceNano = 5 * kNanosPerSecond;
constexpr uint64_t kQueryGraceNano = 2 * kNanosPerSecond;
constexpr uint64_t kLearntBeforeNano = 10 * kNanosPerMinute;
constexpr uint64_t kSeedPatienceNano = 5 * kNanosPerSecond;
constexpr uint64_t kSeedBytes = 256 << 20;

// Installations of earlier versions have no token, and go on without.
void warn_if_open(const ServerOptions& options, const std::string& http_address) {
  if (!options.security.token_file.empty() || !options.security.tls.client_ca.empty()) return;
  log_warning(
      "queries at " + http_address +
      " need no token: every user of this host, and everybody else who reaches this address, can read all "
      "traces and request captures; --query-token-file FILE asks for a token, 'none' states that none is needed. "
      "Purges are refused until then");
}

// The server's umask keeps others from what it makes; a directory of an earlier version may be open.
void warn_if_others_read(const std::string& directory) {
  struct stat about {};
  if (::stat(directory.c_str(), &about) != 0 || (about.st_mode & (S_IROTH | S_IXOTH)) == 0) return;
  log_warning("every user of this host can read the data in " + directory + "; chmod o= " + directory);
}

// Only the server's user can look into it.
Result<> make_private_directory(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return internal("cannot make " + path + ": " + error.message() + directory_cure(path, error.value()));
  return {};
}

// Completes a purge that was interrupted; none begins until the store is open.
Result<std::unique_ptr<store::RocksStore>> open_purged(const store::RocksOptions& options) {
  const auto lock = store::complete_purge(options.path);
  if (!lock) return lock.error();
  return store::RocksStore::open(options);
}

// Everybody who reaches the listener could delete everything, unless somebody has said that everybody may.
bool may_purge(const ServerOptions& options) {
  return options.query_token_file || !options.security.token_file.empty() || !options.security.tls.client_ca.empty();
}

// What was usual before this start is usual still.
void seed(collector::ThresholdLearner& learner, store::SpanStore& store) {
  store::QueryBudget budget(now_monotonic_nano() + kSeedPatienceNano, kSeedBytes);
  auto operations = store.operations({now_unix_nano() - kLearntBeforeNano, UINT64_MAX}, std::nullopt, budget);
  if (operations) return learner.seed(*operations);
  log_warning("thresholds are learnt anew from spans to come: " + operations.error().message);
}

}  // namespace

Result<> Server::open_store(cli::Signals& signals) {
  // A supervisor (fathom up, systemd) starts the process again, unless data is damaged. Nothing acknowledged depends on
  // an orderly end.
  options_.store.on_unrecoverable = [](const Error& why) {
    const bool is_damage = why.code == ErrorCode::kCorrupt;
    log_error((is_damage ? "ending: " : "ending, to be started again: ") + why.message);
    std::_Exit(static_cast<int>(is_damage ? cli::ExitCode::kDataUnusable : cli::ExitCode::kLocalFailure));
  };
  uint64_t give_up = now_monotonic_nano() + kPatienceNano;
  bool told = false;
  while (true) {
    Result<std::unique_ptr<store::RocksStore>> opened = open_purged(options_.store);
    if (opened) {
      options_.collector.captures = &(*opened)->captures();
      store_ = *std::move(opened);
      return {};
    }
    bool may_pass = opened.error().code == ErrorCode::kUnavailable && now_monotonic_nano() < give_up;
    is_data_unusable_ = opened.error().code == ErrorCode::kCorrupt || opened.error().code == ErrorCode::kUnsupported;
    if (!may_pass) return opened.error();
    if (!std::exchange(told, true))
      log_warning("waiting up to " + format_duration(kPatienceNano) + ": " + opened.error().message);
    if (signals.wait(-1, kRetryNano).stop) return Error{ErrorCode::kCancelled, "stopped"};
  }
}

void Server::start_control() {
  learner_ = std::make_shared<collector::ThresholdLearner>(options_.thresholds);
  seed(*learner_, *store_);
  streams_ = std::make_shared<collector::NodeStreams>();
  const auto slow_roots = std::make_shared<collector::SlowRoots>();
  router_ = std::make_shared<collector::ControlRouter>(
      collector::ControlOptions{.slow_roots = slow_roots, .rules_directory = options_.store.path});
  router_->start(*streams_, *learner_);
  options_.collector.observer = std::make_shared<collector::SpanObservers>(
      std::vector<std::shared_ptr<collector::SpanObserver>>{learner_, slow_roots});
  options_.collector.streams = streams_;
  options_.collector.answers = router_;
  options_.query.control = make_node_control(router_, streams_);
}

// Before the store is made: a store without a token is one of an earlier version, whose queries need none.
Result<> Server::load_query_token() {
  const std::string file = options_.query_token_file.value_or("");
  if (file.empty()) return {};
  if (Result<> made = make_private_directory(options_.store.path); !made) return made;
  if (Result<> made = net::make_token_file(file); !made) return made;
  auto tokens = net::Tokens::load(file);
  if (!tokens) return invalid("--query-token-file: " + tokens.error().message);
  options_.query.security.tokens = query_tokens_ = *std::move(tokens);
  std::error_code error;
  options_.query.security.named_token_file = std::filesystem::absolute(file, error).string();
  return {};
}

// The data directory exists.
Result<Server::RedactionRules> Server::load_redaction(const ServerOptions& options) {
  auto rules = parse_redact_rules(options.redact_rules);
  if (!rules) return rules.error();
  RedactKey key;
  if (has_hash_rule(*rules)) {
    auto read = read_or_make_redact_key(options.redact_key_file);
    if (!read) return read.error();
    key = *read;
  }
  auto redactor = Redactor::make(options.redact_rules, key);
  if (!redactor) return redactor.error();
  RedactionRules made{.redactor = *std::move(redactor), .of_agents = {}};
  if (made.redactor->empty()) return made;
  made.of_agents = {made.redactor->fingerprint(), options.redact_rules,
                    has_hash_rule(*rules) ? std::string(key.view()) : std::string()};
  return made;
}

Result<cli::Addresses> Server::start(cli::Signals& signals) {
  auto page = read_page(options_.page);
  if (!page) return page.error();
  options_.query.page = *std::move(page);
  auto security = cli::load(options_.security);
  if (!security) return security.error();
  security_ = *std::move(security);
  options_.collector.security = options_.query.security = security_;
  if (Result<> loaded = load_query_token(); !loaded) return loaded.error();
  Result<> opened = open_store(signals);
  if (!opened) return opened.error();
  warn_if_others_read(options_.store.path);
  auto redaction = load_redaction(options_);
  if (!redaction) return redaction.error();
  options_.collector.redactor = redaction->redactor;
  options_.collector.agent_redaction = std::make_shared<collector::AgentRedaction>();
  options_.collector.agent_redaction->set(std::move(redaction->of_agents), redaction->redactor);
  auto audit = net::AuditLog::open(options_.audit_log);
  if (!audit) return audit.error();
  options_.query.audit = audit_ = *std::move(audit);
  auto keys = collector::NodeKeys::open(options_.store.path);
  if (!keys) return keys.error();
  options_.collector.keys = *std::move(keys);
  warn_if_missing(options_.snapshot_worker);
  options_.snapshots.clock = store_->clock();
  warn_if_unsafe(options_.is_worker_unsafe);
  auto snapshots = query::SnapshotStore::open(
      options_.snapshots, snapshot_worker(options_.snapshot_worker, options_.is_worker_unsafe),
      view_workers({.program = options_.snapshot_worker, .is_unsafe = options_.is_worker_unsafe}));
  if (snapshots) {
    snapshots_ = *std::move(snapshots);
    snapshot_sink_ = make_snapshot_sink(*snapshots_);
    options_.collector.snapshots = snapshot_sink_.get();
  } else {
    log_warning("no snapshots are kept: " +
                snapshots.error().message);  // on a full disk, say; spans are still asked for
  }
  auto nodes = std::make_shared<collector::NodeRegistry>();
  options_.collector.nodes = nodes;
  options_.collector.max_capture_bytes = options_.store.capture_most_bytes;
  options_.query.nodes = [nodes] { return node_rows(*nodes); };
  start_control();
  if (!may_purge(options_)) options_.query.purge_desk.reset();
  query_ = std::make_unique<query::QueryServer>(
      options_.query, query::Stores(*store_, &store_->captures(), snapshots_.get(), options_.query.nodes));
  Result<std::string> http = query_->start();
  if (!http) return http.error();
  collector_ = std::make_unique<collector::Collector>(options_.collector, *store_);
  Result<collector::CollectorAddresses> otlp = collector_->start();
  if (!otlp) return otlp.error();
  if (!options_.query_token_file) warn_if_open(options_, *http);
  query_->set_ready(true);
  return cli::Addresses{.http = *http,
                        .otlp_grpc = otlp->otlp_grpc,
                        .otlp_http = otlp->otlp_http,
                        .query_grpc = query_->grpc_address(),
                        .ingest = otlp->ingest,
                        .agent_socket = ""};
}

Result<> Server::reload(const ServerOptions& options) {
  auto redaction = load_redaction(options);
  if (!redaction) return redaction.error();
  std::optional<net::Tokens::KnownTokens> query_tokens;
  if (query_tokens_) {
    auto read = query_tokens_->read();
    if (!read) return invalid("--query-token-file: " + read.error().message);
    query_tokens = *std::move(read);
  }
  Result<Fd> audit_file = audit_->open_again();
  if (!audit_file) return audit_file.error();
  if (Result<> loaded = options_.collector.keys->reload(); !loaded) return loaded;
  if (Result<> loaded = cli::reload(security_); !loaded) return loaded;
  // From here on nothing can fail.
  audit_->use(*std::move(audit_file));
  if (query_tokens) query_tokens_->use(*std::move(query_tokens));
  store_->set_limits(options.store);
  if (snapshots_) snapshots_->set_retention(options.snapshots);
  collector::CollectorOptions collector = options.collector;
  collector.redactor = redaction->redactor;
  options_.collector.agent_redaction->set(std::move(redaction->of_agents), redaction->redactor);
  collector_->set_limits(collector);
  query_->set_limits(options.query);
  return {};
}

void adopt_reloaded(const ServerOptions& anew, ServerOptions& options) {
  options.store.operations_per_service = anew.store.operations_per_service;
  options.store.services = anew.store.services;
  options.store.catalogue_bytes = anew.store.catalogue_bytes;
  options.store.listed_attribute_keys = anew.store.listed_attribute_keys;
  options.store.retention_age_nano = anew.store.retention_age_nano;
  options.store.retention_bytes = anew.store.retention_bytes;
  options.store.reserve_disk_bytes = anew.store.reserve_disk_bytes;
  options.store.capture_bytes = anew.store.capture_bytes;
  options.collector.max_request_bytes = anew.collector.max_request_bytes;
  options.collector.budget_bytes = anew.collector.budget_bytes;
  options.collector.limits = anew.collector.limits;
  options.query.deadline_nano = anew.query.deadline_nano;
  options.query.byte_budget = anew.query.byte_budget;
  options.snapshots.most_bytes = anew.snapshots.most_bytes;
  options.snapshots.retention_age_nano = anew.snapshots.retention_age_nano;
  options.snapshots.reserve_disk_bytes = anew.snapshots.reserve_disk_bytes;
  options.redact_rules = anew.redact_rules;
  options.redact_key_file = anew.redact_key_file;
}

void Server::stop() {
  if (query_) query_->set_ready(false);  // balancers look elsewhere while requests under way end
  if (collector_) collector_->stop(kCollectorGraceNano);
  if (router_) router_->stop();  // whoever still waits for nodes is answered
  if (query_) query_->stop(kQueryGraceNano);
  collector_.reset();
  query_.reset();
  snapshots_.reset();
  // For whoever measures the data directory: seal and compact everything first. Usually the next start goes on instead.
  if (store_ && std::getenv("FATHOM_SETTLE_ON_EXIT") != nullptr) {
    Result<> settled = store_->settle();
    if (!settled) log_warning("cannot settle: " + settled.error().message);
  }
  store_.reset();
}

}  // namespace fathom
