#include "net/certificates.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "base/in_flag.h"
#include "base/log.h"
#include "base/small_file.h"
#include "base/text.h"
#include "base/time.h"

namespace fathom::net {

namespace {

struct FreeSsl {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509_STORE_CTX* store) const { X509_STORE_CTX_free(store); }
  void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
};
template <typename T>
using Owned = std::unique_ptr<T, FreeSsl>;

// A program must not stand there and ask a terminal for a passphrase.
int no_passphrase(char*, int, int, void*) {
  return 0;
}

Owned<BIO> bio_of(const std::string& text) {
  return Owned<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::string date_text(const ASN1_TIME* time) {
  Owned<BIO> out(BIO_new(BIO_s_mem()));
  if (time == nullptr || !out || ASN1_TIME_print_ex(out.get(), time, ASN1_DTFLGS_ISO8601) != 1) return "an odd date";
  char* text = nullptr;
  const long bytes = BIO_get_mem_data(out.get(), &text);
  return std::string(text, static_cast<size_t>(bytes));
}

bool is_der_certificate(const std::string& text) {
  const auto* at = reinterpret_cast<const unsigned char*>(text.data());
  return Owned<X509>(d2i_X509(nullptr, &at, static_cast<long>(text.size()))) != nullptr;
}

bool is_der_key(const std::string& text) {
  const auto* at = reinterpret_cast<const unsigned char*>(text.data());
  return Owned<EVP_PKEY>(d2i_AutoPrivateKey(nullptr, &at, static_cast<long>(text.size()))) != nullptr;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::string why_no_certificate(const std::string& path, const std::string& text) {
  if (is_der_certificate(text)) {
    return "; it is in DER, which openssl turns into PEM: openssl x509 -inform DER -in " + path + " -out NEW_FILE";
  }
  if (has(text, "BEGIN CERTIFICATE")) return "; it begins one that is damaged: copy the file anew";
  if (has(text, "PRIVATE KEY") || is_der_key(text)) return "; it has a private key: are two files mixed up?";
  return text.empty() ? "; it is empty" : "";
}

std::string why_no_key(const std::string& path, const std::string& text) {
  if (has(text, "ENCRYPTED")) {
    return " that can be read without a passphrase; take it away: openssl pkey -in " + path + " -out NEW_FILE";
  }
  if (is_der_key(text)) {
    return "; it is in DER, which openssl turns into PEM: openssl pkey -inform DER -in " + path + " -out NEW_FILE";
  }
  if (has(text, "PRIVATE KEY")) return "; it begins one that is damaged: copy the file anew";
  if (has(text, "BEGIN CERTIFICATE")) return "; it has a certificate: are two files mixed up?";
  return text.empty() ? "; it is empty" : "";
}

Result<std::vector<Owned<X509>>> certificates_of(const std::string& path) {
  Result<std::string> text = read_small_file(path);
  if (!text) return invalid(text.error().message);
  Owned<BIO> bio = bio_of(*text);
  std::vector<Owned<X509>> certificates;
  while (X509* one = PEM_read_bio_X509(bio.get(), nullptr, no_passphrase, nullptr)) certificates.emplace_back(one);
  ERR_clear_error();
  if (!certificates.empty()) return certificates;
  const std::string why = why_no_certificate(path, *text);
  ERR_clear_error();
  return invalid("'" + path + "' has no certificate in PEM (-----BEGIN CERTIFICATE-----)" + why);
}

Result<Owned<EVP_PKEY>> key_of(const std::string& path) {
  Result<std::string> text = read_small_file(path);
  if (!text) return invalid(text.error().message);
  Owned<BIO> bio = bio_of(*text);
  Owned<EVP_PKEY> key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr));
  ERR_clear_error();
  if (key) return key;
  const std::string why = why_no_key(path, *text);
  ERR_clear_error();
  return invalid("'" + path + "' has no private key in PEM" + why);
}

Result<> check_dates(const std::string& path, const X509* certificate) {
  if (X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0) {
    return invalid("the certificate in '" + path + "' expired on " + date_text(X509_get0_notAfter(certificate)) +
                   "; have a new one made");
  }
  if (X509_cmp_current_time(X509_get0_notBefore(certificate)) > 0) {
    return invalid("the certificate in '" + path + "' is not valid before " +
                   date_text(X509_get0_notBefore(certificate)) + "; is this host's clock wrong?");
  }
  return {};
}

int64_t unix_seconds(const ASN1_TIME* time) {
  tm parts{};
  return ASN1_TIME_to_tm(time, &parts) == 1 ? static_cast<int64_t>(::timegm(&parts)) : 0;
}

// When the first of them expires, and when the last.
std::pair<int64_t, int64_t> ends(const std::vector<Owned<X509>>& certificates) {
  std::vector<int64_t> times;
  for (const auto& one : certificates) times.push_back(unix_seconds(X509_get0_notAfter(one.get())));
  const auto [first, last] = std::minmax_element(times.begin(), times.end());
  return {*first, *last};
}

std::string day_text(int64_t unix_seconds) {
  const auto since_1970 = static_cast<uint64_t>(std::max<int64_t>(unix_seconds, 0));
  const std::string instant = format_instant(since_1970 * kNanosPerSecond);  // 2026-11-22T14:03:05...
  return instant.substr(0, 10) + " " + instant.substr(11, 5) + " UTC";
}

std::string name_text(const GENERAL_NAME* name) {
  if (name->type == GEN_DNS) {
    const auto* text = reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.dNSName));
    return std::string(text, static_cast<size_t>(ASN1_STRING_length(name->d.dNSName)));
  }
  if (name->type != GEN_IPADD) return "";
  char text[INET6_ADDRSTRLEN] = {};
  const int family = ASN1_STRING_length(name->d.iPAddress) == 4 ? AF_INET : AF_INET6;
  return ::inet_ntop(family, ASN1_STRING_get0_data(name->d.iPAddress), text, sizeof text) == nullptr ? "" : text;
}

std::string subject_of(const X509* certificate) {
  char text[256] = {};
  X509_NAME_oneline(X509_get_subject_name(certificate), text, sizeof text);
  return text;
}

}  // namespace

Result<Expiry> use_certificate(boost::asio::ssl::context& context, const std::string& flags,
                               const std::string& certificate, const std::string& key) {
  const std::string flag = flags + "certificate";
  auto chain = certificates_of(certificate);
  if (!chain) return in_flag(flag, chain.error());
  Result<Owned<EVP_PKEY>> secret = key_of(key);
  if (!secret) return in_flag(flags + "key", secret.error());
  const X509* leaf = chain->front().get();
  if (X509_check_private_key(leaf, secret->get()) != 1) {
    ERR_clear_error();
    return invalid(flags + "key: the key in '" + key + "' is not that of the certificate in '" + certificate +
                   "', which is the first one there; name those two that were made together");
  }
  if (Result<> dates = check_dates(certificate, leaf); !dates) return in_flag(flag, dates.error());
  boost::system::error_code fault;
  context.use_certificate_chain_file(certificate, fault);
  if (!fault && SSL_CTX_use_PrivateKey(context.native_handle(), secret->get()) != 1) {
    fault = boost::system::error_code(static_cast<int>(ERR_get_error()), boost::asio::error::get_ssl_category());
  }
  if (fault) return invalid(flag + ": cannot use the certificate in '" + certificate + "': " + fault.message());
  return Expiry{flag, certificate, ends(*chain).first};
}

Result<Expiry> trust(boost::asio::ssl::context& context, const std::string& flag, const std::string& ca) {
  auto authorities = certificates_of(ca);
  if (!authorities) return in_flag(flag, authorities.error());
  boost::system::error_code fault;
  context.load_verify_file(ca, fault);
  if (fault) return invalid(flag + ": cannot use the CA in '" + ca + "': " + fault.message());
  return Expiry{flag, ca, ends(*authorities).second};
}

std::optional<std::string> expiry_warning(const Expiry& expiry, int64_t now_unix_seconds) {
  constexpr int64_t kDay = 24 * 60 * 60;
  constexpr int64_t kEarly = 14 * kDay;
  const int64_t left = expiry.unix_seconds - now_unix_seconds;
  if (left > kEarly) return std::nullopt;
  const std::string date = day_text(expiry.unix_seconds);
  const std::string when =
      left <= 0 ? " expired on " + date
                : " expires on " + date + ", in " +
                      (left < kDay ? "less than a day" : plural(static_cast<uint64_t>(left / kDay), "day"));
  return expiry.flag + ": what is in '" + expiry.file + "'" + when +
         ", and connections are refused from then on; have a new one made, and have the program read it (systemctl "
         "reload, SIGHUP)";
}

void warn_of_expiry(const std::vector<Expiry>& expiries) {
  const auto now = static_cast<int64_t>(now_unix_nano() / kNanosPerSecond);
  for (const Expiry& expiry : expiries) {
    if (auto warning = expiry_warning(expiry, now)) log_warning(*warning);
  }
}

std::string expiry_text(const X509* certificate) {
  return date_text(X509_get0_notAfter(certificate));
}

std::string names_of(const X509* certificate) {
  std::string out;
  Owned<GENERAL_NAMES> names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const std::string text = name_text(sk_GENERAL_NAME_value(names.get(), i));
    if (!text.empty()) out += (out.empty() ? "" : ", ") + text;
  }
  return out.empty() ? "no host" : out;
}

std::string certificate_fault(X509_STORE_CTX* store) {
  const X509* certificate = X509_STORE_CTX_get_current_cert(store);
  if (certificate == nullptr) return "there is none";
  const std::string which = X509_STORE_CTX_get_error_depth(store) == 0 ? "it" : "its CA " + subject_of(certificate);
  switch (X509_STORE_CTX_get_error(store)) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return which + " expired on " + expiry_text(certificate);
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return which + " is not valid before " + date_text(X509_get0_notBefore(certificate));
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return "it is signed by another CA";
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return "it is for " + names_of(certificate) + " only";
    default:
      return X509_verify_cert_error_string(X509_STORE_CTX_get_error(store));
  }
}

std::optional<std::string> peer_fault(SSL* connection, SSL_CTX* context) {
  if ((SSL_CTX_get_verify_mode(context) & SSL_VERIFY_PEER) == 0) return std::nullopt;
  const Owned<X509> certificate(SSL_get1_peer_certificate(connection));
  const Owned<X509_STORE_CTX> store(X509_STORE_CTX_new());
  if (!certificate) return "there is none";
  if (!store || X509_STORE_CTX_init(store.get(), SSL_CTX_get_cert_store(context), certificate.get(),
                                    SSL_get_peer_cert_chain(connection)) != 1) {
    return "it cannot be looked at";
  }
  X509_STORE_CTX_set_default(store.get(), "ssl_client");
  if (X509_verify_cert(store.get()) == 1) return std::nullopt;
  std::string fault = certificate_fault(store.get());
  ERR_clear_error();
  return fault;
}

}  // namespace fathom::net
