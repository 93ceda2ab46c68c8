#include "cli/query_token.h"

#include <algorithm>
#include <filesystem>

#include "net/address.h"

namespace fathom::cli {

namespace {

constexpr const char* kFlag = kQueryTokenFlag;
constexpr const char* kNone = "none";

// The first address at which tokens would go over a network in the clear; empty: there is none.
std::string open_address(const QueryPlace& place) {
  if (!place.files.tls.certificate.empty()) return "";
  const auto found = std::ranges::find_if(
      place.addresses, [](const std::string& address) { return !address.empty() && !net::is_loopback(address); });
  return found == place.addresses.end() ? "" : *found;
}

// Errors other than its absence are errors: what cannot be seen may be there.
Result<bool> is_there(const std::string& path) {
  std::error_code error;
  const auto type = std::filesystem::symlink_status(path, error).type();
  if (type == std::filesystem::file_type::not_found) return false;
  if (error) return invalid(std::string(kFlag) + ": cannot look for " + path + ": " + error.message());
  return true;
}

Result<> may_be_asked_for(const QueryPlace& place) {
  if (!place.files.token_file.empty()) {
    return invalid(std::string(kFlag) +
                   ": --token-file asks for tokens on every listener already; give one of the two");
  }
  const std::string open = open_address(place);
  if (open.empty()) return {};
  return invalid(std::string(kFlag) + ": tokens would go to " + open +
                 " in the clear; give --tls-certificate FILE and --tls-key FILE, listen on 127.0.0.1, or, if "
                 "everybody who reaches it may read and control everything, give 'none'");
}

// A token that was asked for once is asked for until somebody says otherwise.
Result<std::optional<std::string>> automatic(const QueryPlace& place) {
  if (!place.files.token_file.empty() || !place.files.tls.client_ca.empty()) return std::optional<std::string>();
  std::optional<std::string> file = place.data_directory + "/query-token";
  const Result<bool> has_file = is_there(*file), has_data = is_there(place.data_directory + "/store");
  if (!has_file) return has_file.error();
  if (!has_data) return has_data.error();
  if (!*has_file && *has_data) return std::optional<std::string>();
  if (Result<> may = may_be_asked_for(place); !may) return may.error();
  return file;
}

}  // namespace

Flag query_token_flag() {
  return {kFlag, "FILE",
          "queries, control and the page need a token of this file, OTLP and agents need none; made with a new token "
          "if it is missing; 'none': no token is needed; 'auto': DATA/query-token, unless there is data without it "
          "(default of fathom up: auto)"};
}

Result<std::optional<std::string>> query_token_file(const std::optional<std::string>& given, const QueryPlace& place) {
  if (!given) return std::optional<std::string>();
  if (*given == kNone) return std::optional(std::string());
  if (*given == kAutomaticQueryToken) return automatic(place);
  if (given->empty()) return invalid(std::string(kFlag) + ": names no file; leave it out, or name one");
  if (Result<> may = may_be_asked_for(place); !may) return may.error();
  return given;
}

}  // namespace fathom::cli
