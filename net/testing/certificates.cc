#include "net/testing/certificates.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace fathom::net::testing {

Certificates::Certificates() {
  char name[] = "/tmp/fathom-tls-XXXXXX";
  directory_ = ::mkdtemp(name);
  make_ca("ca");
  make_ca("other");
}

Certificates::~Certificates() {
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

void Certificates::run(const std::string& arguments) const {
  const std::string command = "cd " + directory_ + " && openssl " + arguments + " >openssl.log 2>&1";
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
}

void Certificates::write(const std::string& file, const std::string& text) const {
  std::ofstream(path(file)) << text;
}

void Certificates::make_ca(const std::string& name) {
  run("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=" + name + " -keyout " + name +
      ".key -out " + name + ".crt");
  write(name + ".index", "");
  write(name + ".serial", "01\n");
  write(name + ".cnf", "[ca]\ndefault_ca=c\n[c]\ndatabase=" + name + ".index\nserial=" + name +
                           ".serial\ncertificate=" + name + ".crt\nprivate_key=" + name +
                           ".key\nnew_certs_dir=.\ndefault_md=sha256\npolicy=p\nunique_subject=no\n[p]\nCN=supplied\n");
}

void Certificates::sign(const std::string& name, const std::string& ca, const std::string& names,
                        const std::string& dates) {
  run("req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=" + name + " -keyout " + name + ".key -out " +
      name + ".csr");
  write(name + ".ext", "subjectAltName=" + names + "\n");
  run("ca -batch -notext -config " + ca + ".cnf " + dates + " -extfile " + name + ".ext -in " + name + ".csr -out " +
      name + ".crt");
}

void Certificates::make(const std::string& name, const std::string& ca, const std::string& names) {
  sign(name, ca, names, "-days 10");
}

void Certificates::make_expired(const std::string& name) {
  sign(name, "ca", "IP:127.0.0.1", "-startdate 20200101000000Z -enddate 20200201000000Z");
}

TlsFiles Certificates::server(const std::string& name, const std::string& client_ca) const {
  return {path(name + ".crt"), path(name + ".key"), client_ca.empty() ? "" : path(client_ca + ".crt")};
}

ClientSecurity Certificates::client(const std::string& ca, const std::string& name) const {
  ClientSecurity security;
  security.ca = path(ca + ".crt");
  if (!name.empty()) security.certificate = path(name + ".crt");
  if (!name.empty()) security.key = path(name + ".key");
  return security;
}

}  // namespace fathom::net::testing
