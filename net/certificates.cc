#include "net/certificates.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <memory>

#include "base/small_file.h"

namespace fathom::net {

namespace {

struct FreeSsl {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
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

Result<Owned<X509>> first_certificate(const std::string& path) {
  Result<std::string> text = read_small_file(path);
  if (!text) return text.error();
  Owned<BIO> bio = bio_of(*text);
  Owned<X509> certificate(PEM_read_bio_X509(bio.get(), nullptr, no_passphrase, nullptr));
  ERR_clear_error();
  if (certificate) return certificate;
  return invalid("'" + path + "' has no certificate in PEM (-----BEGIN CERTIFICATE-----)");
}

Result<Owned<EVP_PKEY>> key_of(const std::string& path) {
  Result<std::string> text = read_small_file(path);
  if (!text) return text.error();
  Owned<BIO> bio = bio_of(*text);
  Owned<EVP_PKEY> key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr));
  ERR_clear_error();
  if (key) return key;
  const bool locked = text->find("ENCRYPTED") != std::string::npos;
  return invalid("'" + path + "' has no private key in PEM" +
                 (locked ? " that can be read without a passphrase; take it away: openssl pkey -in " + path : ""));
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

Result<int64_t> use_certificate(boost::asio::ssl::context& context, const std::string& certificate,
                                const std::string& key) {
  Result<Owned<X509>> leaf = first_certificate(certificate);
  if (!leaf) return leaf.error();
  Result<Owned<EVP_PKEY>> secret = key_of(key);
  if (!secret) return secret.error();
  if (X509_check_private_key(leaf->get(), secret->get()) != 1) {
    ERR_clear_error();
    return invalid("the key in '" + key + "' is not that of the certificate in '" + certificate + "'");
  }
  if (Result<> dates = check_dates(certificate, leaf->get()); !dates) return dates.error();
  boost::system::error_code fault;
  context.use_certificate_chain_file(certificate, fault);
  if (!fault && SSL_CTX_use_PrivateKey(context.native_handle(), secret->get()) != 1) {
    fault = boost::system::error_code(static_cast<int>(ERR_get_error()), boost::asio::error::get_ssl_category());
  }
  if (fault) return invalid("cannot use the certificate in '" + certificate + "': " + fault.message());
  return unix_seconds(X509_get0_notAfter(leaf->get()));
}

Result<> trust(boost::asio::ssl::context& context, const std::string& ca) {
  if (Result<Owned<X509>> first = first_certificate(ca); !first) return first.error();
  boost::system::error_code fault;
  context.load_verify_file(ca, fault);
  if (fault) return invalid("cannot use the CA in '" + ca + "': " + fault.message());
  return {};
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

}  // namespace fathom::net
