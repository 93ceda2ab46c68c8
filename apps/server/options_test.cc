#include "apps/server/options.h"

#include <gtest/gtest.h>

namespace fathom {
namespace {

Result<ServerOptions> options_of(const std::vector<std::string>& words) {
  Result<cli::Args> args = cli::parse_args(server_command_line(), words);
  if (!args) return args.error();
  return server_options(*args, std::nullopt, "/home/someone");
}

TEST(ServerOptions, DefaultsAreThoseOfTheHelp) {
  Result<ServerOptions> options = options_of({});
  ASSERT_TRUE(options.ok()) << options.error().message;
  EXPECT_EQ(options->store.path, "/home/someone/.local/share/fathom");
  EXPECT_EQ(options->store.durability, store::Durability::kFsync);
  EXPECT_EQ(options->store.retention_bytes, uint64_t{50} << 30);
  EXPECT_EQ(options->query.http_address, "127.0.0.1:7070");
  EXPECT_EQ(options->collector.otlp_grpc_address, "127.0.0.1:4317");
  EXPECT_EQ(options->collector.otlp_http_address, "127.0.0.1:4318");
  EXPECT_EQ(options->collector.ingest_address, "127.0.0.1:7072");
  EXPECT_FALSE(options->ready_fd);
}

TEST(ServerOptions, ManyServersOnFreePortsDoNotCollide) {
  EXPECT_EQ(options_of({"--http=127.0.0.1:0"})->collector.ingest_address, "127.0.0.1:0");
  EXPECT_EQ(options_of({"--http=127.0.0.1:0", "--ingest=h:9"})->collector.ingest_address, "h:9");
}

TEST(ServerOptions, DefaultLimitsAreThePartsOwn) {
  Result<ServerOptions> options = options_of({});
  ASSERT_TRUE(options.ok());
  store::BatchLimits limits;
  EXPECT_EQ(options->collector.limits.attributes_per_span, limits.attributes_per_span);
  EXPECT_EQ(options->collector.limits.bytes_per_value, limits.bytes_per_value);
  EXPECT_EQ(options->collector.limits.bytes_per_name, limits.bytes_per_name);
  EXPECT_EQ(options->collector.limits.events_per_span, limits.events_per_span);
  EXPECT_EQ(options->collector.limits.links_per_span, limits.links_per_span);
  collector::CollectorOptions collector;
  EXPECT_EQ(options->collector.max_request_bytes, collector.max_request_bytes);
  EXPECT_EQ(options->collector.budget_bytes, collector.budget_bytes);
  EXPECT_EQ(options->collector.grpc_connection_age_nano, collector.grpc_connection_age_nano);
  store::RocksOptions store;
  EXPECT_EQ(options->store.operations_per_service, store.operations_per_service);
  EXPECT_EQ(options->store.services, store.services);
  EXPECT_EQ(options->store.catalogue_bytes, store.catalogue_bytes);
  EXPECT_EQ(options->store.listed_attribute_keys, store.listed_attribute_keys);
  EXPECT_EQ(options->store.reserve_disk_bytes, store.reserve_disk_bytes);
  EXPECT_EQ(options->store.capture_bytes, store.capture_bytes);
  EXPECT_EQ(options->snapshots.most_bytes, query::SnapshotOptions{}.most_bytes);
  EXPECT_EQ(options->store.cache_bytes, store.cache_bytes);
  collector::LearnerOptions thresholds;
  EXPECT_EQ(options->thresholds.floor_nano, thresholds.floor_nano);
  EXPECT_EQ(options->thresholds.unlearnt_nano, thresholds.unlearnt_nano);
  query::QueryOptions query;
  EXPECT_EQ(options->query.threads, query.threads);
  EXPECT_EQ(options->query.grpc_connection_age_nano, query.grpc_connection_age_nano);
  EXPECT_EQ(options->query.deadline_nano, query.deadline_nano);
  EXPECT_EQ(options->query.byte_budget, query.byte_budget);
}

TEST(ServerOptions, EveryFlagReachesItsPart) {
  Result<ServerOptions> options = options_of({"--data=/d",
                                              "--http=h:1",
                                              "--otlp-grpc=g:2",
                                              "--otlp-http=o:3",
                                              "--ingest=i:5",
                                              "--durability=os",
                                              "--retention-age=2d",
                                              "--retention-size=1GiB",
                                              "--retention-captures=2GiB",
                                              "--retention-snapshots=3GiB",
                                              "--snapshot-worker=/opt/worker",
                                              "--snapshot-workers=5",
                                              "--unsafe-worker",
                                              "--source-dir=/build=/srv/src",
                                              "--source-dir=/srv",
                                              "--reserve-disk=1MiB",
                                              "--max-request-bytes=1MiB",
                                              "--ingest-memory=20MiB",
                                              "--cache=3MiB",
                                              "--attributes-per-span=1",
                                              "--events-per-span=2",
                                              "--links-per-span=3",
                                              "--bytes-per-value=4",
                                              "--bytes-per-name=5",
                                              "--operations-per-service=6",
                                              "--services=7",
                                              "--catalogue-memory=4MiB",
                                              "--listed-attribute-keys=10",
                                              "--capture-threshold=300ms",
                                              "--capture-floor=2ms",
                                              "--query-threads=8",
                                              "--query-deadline=90s",
                                              "--query-bytes=9",
                                              "--query-grpc=q:4",
                                              "--grpc-connection-age=10s",
                                              "--cors-allow-origin=*",
                                              "--ready-fd=3"});
  ASSERT_TRUE(options.ok()) << options.error().message;
  EXPECT_EQ(options->store.path, "/d");
  EXPECT_EQ(options->query.http_address, "h:1");
  EXPECT_EQ(options->collector.otlp_grpc_address, "g:2");
  EXPECT_EQ(options->collector.otlp_http_address, "o:3");
  EXPECT_EQ(options->collector.ingest_address, "i:5");
  EXPECT_EQ(options->store.durability, store::Durability::kOs);
  EXPECT_EQ(options->store.retention_age_nano, 172'800'000'000'000u);
  EXPECT_EQ(options->store.retention_bytes, uint64_t{1} << 30);
  EXPECT_EQ(options->store.reserve_disk_bytes, uint64_t{1} << 20);
  EXPECT_EQ(options->store.capture_bytes, uint64_t{2} << 30);
  EXPECT_EQ(options->snapshots.most_bytes, uint64_t{3} << 30);
  EXPECT_EQ(options->snapshots.path, options->store.path + "/server-snapshots");
  EXPECT_EQ(options->snapshots.retention_age_nano, options->store.retention_age_nano);
  EXPECT_EQ(options->snapshot_worker, "/opt/worker");
  EXPECT_EQ(options->query.snapshot_workers, 5u);
  EXPECT_TRUE(options->is_worker_unsafe);
  ASSERT_EQ(options->snapshots.source_directories.size(), 2u);
  EXPECT_EQ(options->snapshots.source_directories[0].from, "/build");
  EXPECT_EQ(options->snapshots.source_directories[0].to, "/srv/src");
  EXPECT_EQ(options->snapshots.source_directories[1].from, "/srv");
  EXPECT_EQ(options->collector.max_request_bytes, uint64_t{1} << 20);
  EXPECT_EQ(options->collector.budget_bytes, uint64_t{20} << 20);
  EXPECT_EQ(options->store.cache_bytes, uint64_t{3} << 20);
  EXPECT_EQ(options->collector.limits.attributes_per_span, 1u);
  EXPECT_EQ(options->collector.limits.events_per_span, 2u);
  EXPECT_EQ(options->collector.limits.links_per_span, 3u);
  EXPECT_EQ(options->collector.limits.bytes_per_value, 4u);
  EXPECT_EQ(options->collector.limits.bytes_per_name, 5u);
  EXPECT_EQ(options->store.operations_per_service, 6u);
  EXPECT_EQ(options->store.services, 7u);
  EXPECT_EQ(options->store.catalogue_bytes, uint64_t{4} << 20);
  EXPECT_EQ(options->store.listed_attribute_keys, 10u);
  EXPECT_EQ(options->thresholds.unlearnt_nano, 300'000'000u);
  EXPECT_EQ(options->thresholds.floor_nano, 2'000'000u);
  EXPECT_EQ(options->query.threads, 8u);
  EXPECT_EQ(options->query.deadline_nano, 90'000'000'000u);
  EXPECT_EQ(options->query.max_deadline_nano, 90'000'000'000u);
  EXPECT_EQ(options->query.byte_budget, 9u);
  EXPECT_EQ(options->query.grpc_address, "q:4");
  EXPECT_EQ(options->collector.grpc_connection_age_nano, 10'000'000'000u);
  EXPECT_EQ(options->query.grpc_connection_age_nano, 10'000'000'000u);
  EXPECT_EQ(options->collector.cors_allow_origin, "*");
  EXPECT_EQ(options->ready_fd, 3);
}

TEST(ServerOptions, TlsAndTokens) {
  Result<ServerOptions> options = options_of(
      {"--tls-certificate=/c", "--tls-key=/k", "--tls-client-ca=/ca", "--token-file=/t", "--http=0.0.0.0:1"});
  ASSERT_TRUE(options.ok()) << options.error().message;
  EXPECT_EQ(options->security.tls.certificate, "/c");
  EXPECT_EQ(options->security.tls.key, "/k");
  EXPECT_EQ(options->security.tls.client_ca, "/ca");
  EXPECT_EQ(options->security.token_file, "/t");
  auto fault = [](const std::vector<std::string>& words) {
    Result<ServerOptions> refused = options_of(words);
    return refused.ok() ? "" : refused.error().message;
  };
  EXPECT_EQ(fault({"--tls-certificate=/c"}), "--tls-certificate: its key is missing: --tls-key FILE");
  EXPECT_EQ(fault({"--tls-key=/k"}), "--tls-key: its certificate is missing: --tls-certificate FILE");
  EXPECT_NE(fault({"--tls-client-ca=/ca"}), "");
  EXPECT_NE(fault({"--token-file=/t", "--ingest=0.0.0.0:7072"}).find("to 0.0.0.0:7072 in the clear"),
            std::string::npos);
  EXPECT_EQ(fault({"--token-file=/t", "--ingest=[::1]:7072", "--http=localhost:1"}), "");
}

TEST(ServerOptions, WrongValuesNameTheirFlag) {
  for (const char* word : {"--retention-age=7",
                           "--retention-size=lots",
                           "--retention-captures=79MiB",
                           "--retention-snapshots=1MiB",
                           "--durability=maybe",
                           "--query-threads=0",
                           "--ready-fd=x",
                           "--max-request-bytes=8GiB",
                           "--operations-per-service=0",
                           "--services=-1",
                           "--capture-threshold=7",
                           "--capture-floor=x",
                           "--listed-attribute-keys=0",
                           "--listed-attribute-keys=8193",
                           "--source-dir=src",
                           "--source-dir=/a=",
                           "--redact=hide key user",
                           "--redact=mask value a(b",
                           "--redact=mask value a*",
                           "--redact-key-file="}) {
    Result<ServerOptions> options = options_of({word});
    ASSERT_FALSE(options.ok()) << word;
    EXPECT_EQ(options.error().code, ErrorCode::kInvalid);
    std::string flag(word, std::string_view(word).find('='));
    EXPECT_NE(options.error().message.find(flag), std::string::npos) << options.error().message;
  }
}

TEST(ServerOptions, RulesOfRedactionAreKeptInOrder) {
  const auto none = options_of({"--data=/d"});
  ASSERT_TRUE(none.ok());
  EXPECT_TRUE(none->redact_rules.empty());
  EXPECT_EQ(none->redact_key_file, "/d/redact-key");
  const auto two =
      options_of({"--redact=hash key user.id", "--redact=mask value [0-9]{13,19}", "--redact-key-file=/k"});
  ASSERT_TRUE(two.ok()) << two.error().message;
  EXPECT_EQ(two->redact_rules, (std::vector<std::string>{"hash key user.id", "mask value [0-9]{13,19}"}));
  EXPECT_EQ(two->redact_key_file, "/k");
}

TEST(ServerOptions, ASizeToKeepIsNoSlip) {
  auto fault = [](const std::string& value) {
    Result<ServerOptions> options = options_of({"--retention-size=" + value});
    return options.ok() ? "" : options.error().message;
  };
  EXPECT_EQ(fault("50"),
            "--retention-size: '50' is 50 B, too little to keep anything in; write 16MiB or more, as in "
            "50GiB, or 0 for no limit");
  EXPECT_NE(fault("5MiB").find("'5MiB' is 5.0 MiB, too little"), std::string::npos);
  EXPECT_NE(fault("16777215"), "");
  EXPECT_EQ(fault("16777216"), "");
  EXPECT_EQ(fault("16 MiB"), "");
  for (const char* nonsense : {"", "GiB", "-1GiB", "10GiB10", "10gib", "1e9", "nan", "10 000MB", "99999999TiB"}) {
    EXPECT_NE(fault(nonsense).find("--retention-size"), std::string::npos) << nonsense << ": " << fault(nonsense);
    EXPECT_NE(fault(nonsense).find("is not a size"), std::string::npos) << nonsense << ": " << fault(nonsense);
  }
  auto bytes = [](const std::string& value) {
    return options_of({"--retention-size=" + value})->store.retention_bytes;
  };
  EXPECT_EQ(bytes("10GiB"), uint64_t{10} << 30);
  EXPECT_EQ(bytes("500GB"), 500'000'000'000u);
  EXPECT_EQ(bytes("1.5TiB"), uint64_t{3} << 39);
  EXPECT_EQ(bytes("0"), 0u);
}

TEST(ServerOptions, MemoryForAgentsBatchesIsNotTooLittle) {
  auto bytes = [](const std::string& size) { return options_of({"--ingest-memory=" + size})->collector.budget_bytes; };
  EXPECT_EQ(bytes("1KiB"), uint64_t{8} << 20);
  EXPECT_EQ(bytes("8MiB"), uint64_t{8} << 20);
  EXPECT_EQ(bytes("9MiB"), uint64_t{9} << 20);
}

TEST(ServerOptions, WithoutAHomeTheDirectoryMustBeNamed) {
  Result<cli::Args> args = cli::parse_args(server_command_line(), {});
  ASSERT_TRUE(args.ok());
  Result<ServerOptions> options = server_options(*args, std::nullopt, std::nullopt);
  ASSERT_FALSE(options.ok());
  EXPECT_NE(options.error().message.find("--data"), std::string::npos);
  EXPECT_EQ(server_options(*args, "/x", "/h")->store.path, "/x/fathom");
}

}  // namespace
}  // namespace fathom
