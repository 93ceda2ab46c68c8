#include "cli/addresses.h"

#include <boost/json.hpp>

#include "cli/text.h"
#include "net/json_writer.h"

namespace fathom::cli {

namespace {

// Written in this order.
struct Member {
  const char* key;
  std::string Addresses::*value;
  bool always;  // every server says it
};
constexpr Member kMembers[] = {
    {"http", &Addresses::http, true},           {"otlp_grpc", &Addresses::otlp_grpc, true},
    {"otlp_http", &Addresses::otlp_http, true}, {"query_grpc", &Addresses::query_grpc, false},
    {"ingest", &Addresses::ingest, false},      {"agent_socket", &Addresses::agent_socket, false}};

Result<Addresses> parse_any(std::string_view line) {
  boost::json::error_code error;
  boost::json::value value = boost::json::parse({line.data(), line.size()}, error);
  if (error || !value.is_object()) return corrupt("not a line of addresses: " + printable(line));
  Addresses addresses;
  for (const Member& member : kMembers) {
    const boost::json::value* text = value.get_object().if_contains(member.key);
    if (text == nullptr) continue;
    if (!text->is_string()) return corrupt(std::string("the line of addresses has an odd ") + member.key);
    addresses.*member.value = std::string(text->get_string());
  }
  return addresses;
}

Error lacks(const char* key) {
  return corrupt(std::string("the line of addresses lacks ") + key);
}

}  // namespace

std::string addresses_line(const Addresses& addresses) {
  std::string line;
  net::JsonWriter writer(line);
  writer.begin_object();
  for (const Member& member : kMembers) {
    if (!(addresses.*member.value).empty()) writer.member(member.key, addresses.*member.value);
  }
  writer.end_object();
  return line + "\n";
}

Result<Addresses> parse_addresses(std::string_view line) {
  Result<Addresses> addresses = parse_any(line);
  if (!addresses) return addresses;
  for (const Member& member : kMembers) {
    if (member.always && ((*addresses).*member.value).empty()) return lacks(member.key);
  }
  return addresses;
}

Result<std::string> parse_agent_socket(std::string_view line) {
  Result<Addresses> addresses = parse_any(line);
  if (!addresses) return addresses.error();
  if (addresses->agent_socket.empty()) return lacks("agent_socket");
  return addresses->agent_socket;
}

}  // namespace fathom::cli
