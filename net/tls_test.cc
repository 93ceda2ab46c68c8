// TLS and tokens, from a client's socket to a handler: who is let in, who is not, what each is told and counted.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "base/metrics.h"
#include "net/http_client.h"
#include "net/http_server.h"
#include "net/testing/certificates.h"
#include "net/testing/raw_client.h"
#include "net/testing/scripted_handler.h"
#include "net/tokens.h"

namespace fathom::net {
namespace {

constexpr const char* kToken = "0123456789abcdef0123456789abcdef";
constexpr uint64_t kPatienceNano = 20'000'000'000;

uint64_t tls_refused(const std::string& reason) {
  return counter("fathom_tls_refused_total", "", "listener=\"tls\",reason=\"" + reason + "\"").value();
}

uint64_t without_token(const std::string& reason) {
  return counter("fathom_auth_refused_total", "", "listener=\"tls\",reason=\"" + reason + "\"").value();
}

class Tls : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    certificates_ = new testing::Certificates;
    certificates_->make("server");
    certificates_->make("client");
    certificates_->make("stranger", "other");
    certificates_->make("elsewhere", "ca", "DNS:traces.example");
    certificates_->make_expired("old");
  }
  static void TearDownTestSuite() { delete certificates_; }

  void start(const std::string& certificate = "server", const std::string& client_ca = "",
             uint64_t handshake_nano = 10'000'000'000) {
    auto tls = TlsServer::load(certificates_->server(certificate, client_ca));
    ASSERT_TRUE(tls.ok()) << tls.error().message;
    tls_ = *tls;
    serve(handshake_nano);
  }
  void serve(uint64_t handshake_nano = 10'000'000'000) {
    server_ = std::make_unique<HttpServer>(
        HttpServerOptions{.listener = "tls", .header_timeout_nano = handshake_nano, .security = {tls_, tokens_}},
        handler_);
    auto bound = server_->start();
    ASSERT_TRUE(bound.ok()) << bound.error().message;
    address_ = *bound;
  }
  void ask_for_tokens() {
    certificates_->write("tokens", "# ours\nann:" + std::string(kToken) + "\n");
    auto tokens = Tokens::load(certificates_->path("tokens"));
    ASSERT_TRUE(tokens.ok()) << tokens.error().message;
    tokens_ = *tokens;
  }
  Result<HttpReply> get(const ClientSecurity& security, const std::string& path = "/x") {
    return HttpClient("https://" + address_, kPatienceNano, security).get(path);
  }
  std::string fault(const ClientSecurity& security) {
    auto reply = get(security);
    EXPECT_FALSE(reply.ok());
    return reply.ok() ? "" : reply.error().message;
  }
  // Counters follow the peer's answer by a moment.
  static void expect_counted(const std::string& reason, uint64_t before) {
    for (int i = 0; i < 1000 && tls_refused(reason) == before; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_EQ(tls_refused(reason), before + 1) << reason;
  }

  static testing::Certificates* certificates_;
  std::shared_ptr<testing::ScriptedHandler> handler_ = std::make_shared<testing::ScriptedHandler>();
  std::shared_ptr<TlsServer> tls_;
  std::shared_ptr<Tokens> tokens_;
  std::unique_ptr<HttpServer> server_;
  std::string address_;
};

testing::Certificates* Tls::certificates_ = nullptr;

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST_F(Tls, CarriesRequestsOfAnySizeOverOneConnection) {
  start();
  HttpClient client("https://" + address_, kPatienceNano, certificates_->client("ca"));
  for (int i = 0; i < 3; ++i) {
    auto reply = client.post("/p", "text/plain", std::string(1'000'000, 'y'));
    ASSERT_TRUE(reply.ok()) << reply.error().message;
    EXPECT_EQ(reply->body, "POST /p\n" + std::string(1'000'000, 'y'));
  }
  auto large = client.get("/large");
  ASSERT_TRUE(large.ok()) << large.error().message;
  EXPECT_EQ(large->body.size(), handler_->large_bytes);
}

TEST_F(Tls, ARefusalIsReadThoughTheBodyWasNotTaken) {
  start();
  HttpClient client("https://" + address_, kPatienceNano, certificates_->client("ca"));
  auto reply = client.post("/refused", "text/plain", std::string(8'000'000, 'x'));
  ASSERT_TRUE(reply.ok()) << reply.error().message;
  EXPECT_EQ(reply->status, 403);
}

TEST_F(Tls, AServerOfAnotherCaIsNamedWithTheCure) {
  start();
  uint64_t before = tls_refused("peer_refused");
  const std::string says = fault(certificates_->client("other"));
  EXPECT_HAS(says, "it is signed by another CA that is not in '" + certificates_->path("other.crt") + "'");
  EXPECT_HAS(says, "--ca FILE");
  expect_counted("peer_refused", before);
  EXPECT_HAS(fault({}), "is not in this host's list");
}

TEST_F(Tls, AServerOfAnotherNameIsNamedWithItsNames) {
  start("elsewhere");
  EXPECT_HAS(fault(certificates_->client("ca")),
             "it is for traces.example only; connect by one of these names (--url), or have");
}

TEST_F(Tls, ExpiredCertificatesAreRefusedWhereTheyAreLoaded) {
  auto tls = TlsServer::load(certificates_->server("old"));
  ASSERT_FALSE(tls.ok());
  EXPECT_HAS(tls.error().message, "expired on 2020-02-01");
  auto client = check(certificates_->client("ca", "old"));
  ASSERT_FALSE(client.ok());
  EXPECT_HAS(client.error().message, "expired on 2020-02-01");
}

TEST_F(Tls, FilesThatAreNoCertificatesAreNamed) {
  auto fault_of = [](const TlsFiles& files) {
    auto tls = TlsServer::load(files);
    return tls.ok() ? "" : tls.error().message;
  };
  TlsFiles files = certificates_->server("server");
  EXPECT_HAS(fault_of({files.key, files.key, ""}), "has no certificate in PEM");
  EXPECT_HAS(fault_of({files.certificate, files.certificate, ""}), "has no private key in PEM");
  EXPECT_HAS(fault_of({files.certificate, certificates_->path("client.key"), ""}), "is not that of the certificate");
  EXPECT_HAS(fault_of({files.certificate, "/nowhere/key", ""}), "cannot read '/nowhere/key'");
  EXPECT_HAS(fault_of({files.certificate, files.key, files.key}), "has no certificate in PEM");
  EXPECT_HAS(check({.certificate = files.certificate}).error().message, "--certificate and --key go together");
}

TEST_F(Tls, FilesInOtherFormsAreNamedWithTheCure) {
  const TlsFiles files = certificates_->server("server");
  certificates_->run("x509 -in server.crt -outform DER -out der.crt");
  certificates_->run("pkey -in server.key -outform DER -out der.key");
  certificates_->run("pkey -in server.key -aes256 -passout pass:x -out locked.key");
  certificates_->write("torn.crt", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n");
  certificates_->write("empty", "");
  auto fault_of = [&](const std::string& certificate, const std::string& key) {
    auto tls = TlsServer::load({.certificate = certificate, .key = key, .client_ca = ""});
    return tls.ok() ? "" : tls.error().message;
  };
  const auto path = [&](const char* file) { return certificates_->path(file); };
  EXPECT_HAS(fault_of(path("der.crt"), files.key), "openssl x509 -inform DER -in " + path("der.crt") + " -out");
  EXPECT_HAS(fault_of(files.certificate, path("der.key")), "openssl pkey -inform DER -in " + path("der.key") + " -out");
  EXPECT_HAS(fault_of(files.certificate, path("locked.key")), "openssl pkey -in " + path("locked.key") + " -out");
  EXPECT_HAS(fault_of(path("torn.crt"), files.key), "damaged");
  EXPECT_HAS(fault_of(path("empty"), files.key), "it is empty");
  EXPECT_HAS(fault_of(files.key, files.certificate), "--tls-certificate: '" + files.key);
  EXPECT_HAS(fault_of(files.key, files.certificate), "it has a private key: are two files mixed up?");
  EXPECT_HAS(fault_of(files.certificate, files.certificate), "it has a certificate: are two files mixed up?");
  EXPECT_EQ(fault_of(files.certificate, "/nowhere").rfind("--tls-key: ", 0), 0u);
}

TEST(Expiry, IsSaidFourteenDaysBefore) {
  constexpr int64_t kDay = 24 * 60 * 60;
  constexpr int64_t kEnd = 1'795'000'000;  // 2026-11-18 11:06:40
  const Expiry expiry{"--tls-certificate", "/srv/a.crt", kEnd};
  const auto said = [&](int64_t now) { return expiry_warning(expiry, now).value_or("nothing"); };
  EXPECT_EQ(said(kEnd - 14 * kDay - 1), "nothing");
  EXPECT_HAS(said(kEnd - 14 * kDay),
             "--tls-certificate: what is in '/srv/a.crt' expires on 2026-11-18 11:06 UTC, in 14 days,");
  EXPECT_HAS(said(kEnd - 2 * kDay + 1), "in 1 day,");
  EXPECT_HAS(said(kEnd - kDay + 1), "in less than a day,");
  EXPECT_HAS(said(kEnd), "expired on 2026-11-18 11:06 UTC");
}

TEST_F(Tls, ClientsShowACertificateWhereOneIsAskedFor) {
  start("server", "ca");
  auto reply = get(certificates_->client("ca", "client"));
  ASSERT_TRUE(reply.ok()) << reply.error().message;
  uint64_t before = tls_refused("no_certificate");
  EXPECT_HAS(fault(certificates_->client("ca")), "the server wants a certificate of its clients: --certificate FILE");
  expect_counted("no_certificate", before);
  before = tls_refused("certificate");
  EXPECT_HAS(fault(certificates_->client("ca", "stranger")), "the server does not know the CA of");
  expect_counted("certificate", before);
}

TEST_F(Tls, WhoSpeaksNoTlsIsToldSo) {
  start();
  uint64_t before = tls_refused("not_tls");
  auto reply = HttpClient("http://" + address_).get("/x");
  ASSERT_TRUE(reply.ok()) << reply.error().message;
  EXPECT_EQ(reply->status, 400);
  EXPECT_HAS(reply->body, "this port speaks TLS: write https://");
  expect_counted("not_tls", before);
  testing::RawClient http2(address_);
  http2.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  EXPECT_HAS(http2.read_all(), "this port speaks TLS");
}

TEST_F(Tls, AClientWithTlsIsToldThatTheServerHasNone) {
  serve();
  EXPECT_HAS(fault(certificates_->client("ca")), "speaks no TLS; is http:// meant");
}

TEST_F(Tls, HandshakesThatComeSlowlyOrNotWholeAreCounted) {
  start("server", "", 1'000'000'000);
  uint64_t slow = tls_refused("timeout"), cut = tls_refused("cut_off");
  testing::RawClient silent(address_);
  EXPECT_EQ(silent.read_all(), "");
  expect_counted("timeout", slow);
  testing::RawClient half(address_);
  half.send(std::string("\x16\x03\x01\x02\x00\x01", 6));
  half.finish_sending();
  half.read_all();
  expect_counted("cut_off", cut);
  testing::RawClient noise(address_);
  uint64_t malformed = tls_refused("malformed");
  noise.send(std::string("\x16") + std::string(2000, 'z'));
  noise.read_all();
  expect_counted("malformed", malformed);
}

TEST_F(Tls, StopEndsThoseWhoAreConnected) {
  start("server", "", kPatienceNano);
  testing::RawClient silent(address_);
  EXPECT_EQ(get(certificates_->client("ca"))->status, 200);
  server_->stop(0);
  EXPECT_EQ(silent.read_all(), "");
}

TEST_F(Tls, NewCertificatesAreForThoseWhoComeThen) {
  certificates_->make("renewed", "other");
  TlsFiles files = certificates_->server("server");
  TlsFiles live{certificates_->path("live.crt"), certificates_->path("live.key"), ""};
  auto copy = [&](const TlsFiles& from) {
    ASSERT_EQ(std::system(
                  ("cp " + from.certificate + " " + live.certificate + " && cp " + from.key + " " + live.key).c_str()),
              0);
  };
  copy(files);
  tls_ = *TlsServer::load(live);
  serve();
  EXPECT_TRUE(get(certificates_->client("ca")).ok());
  copy(certificates_->server("renewed"));
  auto renewed = tls_->read();
  ASSERT_TRUE(renewed.ok());
  EXPECT_TRUE(get(certificates_->client("ca")).ok()) << "what was read is not in use yet";
  tls_->use(*renewed);
  EXPECT_TRUE(get(certificates_->client("other")).ok());
  EXPECT_FALSE(get(certificates_->client("ca")).ok());
  certificates_->write("live.crt", "half of one");
  EXPECT_FALSE(tls_->read().ok());
  EXPECT_TRUE(get(certificates_->client("other")).ok()) << "what was loaded stays";
}

TEST_F(Tls, TokensAreAskedForWithAndWithoutTls) {
  ask_for_tokens();
  ClientSecurity security;
  for (bool with_tls : {true, false}) {
    if (with_tls) start();
    if (!with_tls) {
      tls_.reset();
      serve();
    }
    const std::string url = (with_tls ? "https://" : "http://") + address_;
    security = with_tls ? certificates_->client("ca") : ClientSecurity{};
    uint64_t missing = without_token("missing"), wrong = without_token("wrong");
    auto reply = HttpClient(url, kPatienceNano, security).get("/x");
    ASSERT_TRUE(reply.ok()) << reply.error().message;
    EXPECT_EQ(reply->status, 401);
    EXPECT_HAS(reply->body, "a token is missing: send 'authorization: Bearer TOKEN'");
    EXPECT_EQ(without_token("missing"), missing + 1);
    EXPECT_EQ(HttpClient(url, kPatienceNano, security).get("/healthz")->status, 200);
    certificates_->write("mine", std::string(31, 'f') + "e\n");
    security.token_file = certificates_->path("mine");
    EXPECT_EQ(HttpClient(url, kPatienceNano, security).get("/x")->status, 401);
    EXPECT_EQ(without_token("wrong"), wrong + 1);
    security.token_file = certificates_->path("tokens");
    EXPECT_EQ(HttpClient(url, kPatienceNano, security).get("/x")->status, 200);
    server_.reset();
  }
}

TEST_F(Tls, ATokenWithoutTheScopeGets403AndMetricsAreOpenOnLoopback) {
  certificates_->write("tokens", "shop:" + std::string(kToken) + " ingest\n");
  tokens_ = *Tokens::load(certificates_->path("tokens"));
  serve();
  const uint64_t refused = without_token("scope");
  const ClientSecurity security{.token_file = certificates_->path("tokens")};
  auto reply = HttpClient("http://" + address_, kPatienceNano, security).get("/x");
  ASSERT_TRUE(reply.ok()) << reply.error().message;
  EXPECT_EQ(reply->status, 403);
  EXPECT_HAS(reply->body, "the token 'shop' has the scopes ingest; this needs query");
  EXPECT_EQ(without_token("scope"), refused + 1);
  EXPECT_EQ(HttpClient("http://" + address_).get("/metrics")->status, 200);
}

TEST_F(Tls, A401SaysWhichSchemeIsMeant) {
  ask_for_tokens();
  serve();
  testing::RawClient client(address_);
  client.send("GET /x HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic YTpi\r\n\r\n");
  EXPECT_HAS(client.read_all(), "WWW-Authenticate: Bearer");
  testing::RawClient lower(address_);
  lower.send("GET /x HTTP/1.1\r\nHost: localhost\r\nauthorization: bearer " + std::string(kToken) +
             "\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(testing::status_of(lower.read_all()), 200);
}

TEST_F(Tls, TokenFilesAreReadStrictly) {
  auto read = [](const std::string& text) {
    certificates_->write("t", text);
    return read_tokens(certificates_->path("t"));
  };
  EXPECT_EQ(*read("a:" + std::string(kToken) + "  \r\n\n# no\n" + std::string(32, 'x')),
            (std::vector<Token>{{"a", std::string(kToken), Scopes::all()}, {"", std::string(32, 'x'), Scopes::all()}}));
  EXPECT_HAS(read("\nshort\n").error().message, ":2: a line is TOKEN or NAME:TOKEN");
  EXPECT_EQ(read("\nshort\n").error().message.find("short"), std::string::npos) << "a token is a secret";
  EXPECT_HAS(read("# none\n").error().message, "has no token; make one");
  auto tokens = Tokens::load(certificates_->path("nowhere"));
  EXPECT_HAS(tokens.error().message, "No such file");
}

}  // namespace
}  // namespace fathom::net
