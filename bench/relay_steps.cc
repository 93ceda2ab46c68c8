#include "bench/relay_steps.h"

#include <filesystem>

#include "bench/span_steps.h"
#include "bench/tracers/subprocess.h"

namespace fathom::bench {

namespace {

constexpr uint32_t kPrograms = 2;

struct Certificate {
  std::string certificate;  // which is its own CA
  std::string key;
};

Result<Certificate> make_certificate(const std::string& directory) {
  Certificate made{directory + "/server.crt", directory + "/server.key"};
  auto ended = tracers::run_to_end({{"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                                     "-noenc", "-days", "1", "-subj", "/CN=fathom-bench", "-addext",
                                     "subjectAltName=IP:127.0.0.1", "-keyout", made.key, "-out", made.certificate},
                                    {}});
  if (!ended) return ended.error();
  if (!ended->fine()) return unavailable("openssl makes no certificate: " + ended->output);
  return made;
}

Result<RelayCost> relay_cost(const ServerOptions& options, const std::vector<std::string>& agent, uint64_t rate,
                             double seconds) {
  auto server = Server::start(options);
  if (!server) return server.error();
  const double before = (*server)->process().cpu_seconds();
  auto cost = measure_agent(options.work_directory, (*server)->ingest(), kPrograms, rate / kPrograms, seconds, agent);
  if (!cost) return cost.error();
  const auto spans = static_cast<double>(cost->acknowledged);
  const double cpu_seconds = cost->cpu_seconds + (*server)->process().cpu_seconds() - before;
  return RelayCost{spans / cost->wall_seconds, cpu_seconds * 1e6 / spans};
}

Result<Relay> measure_in(const std::string& directory, const ServerOptions& options, uint64_t rate, double seconds) {
  auto certificate = make_certificate(directory);
  if (!certificate) return certificate.error();
  ServerOptions secure = options;
  secure.arguments.insert(secure.arguments.end(),
                          {"--tls-certificate", certificate->certificate, "--tls-key", certificate->key});
  auto plain = relay_cost(options, {}, rate, seconds);
  if (!plain) return plain.error();
  auto tls = relay_cost(secure, {"--collector-ca", certificate->certificate}, rate, seconds);
  if (!tls) return tls.error();
  return Relay{*plain, *tls};
}

}  // namespace

Result<Relay> measure_relay(const ServerOptions& server, uint64_t rate, double seconds) {
  Result<std::string> directory = make_run_directory(server.work_directory);
  if (!directory) return directory.error();
  Result<Relay> relay = measure_in(*directory, server, rate, seconds);
  std::error_code ignored;
  std::filesystem::remove_all(*directory, ignored);
  return relay;
}

}  // namespace fathom::bench
