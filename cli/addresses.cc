#include "cli/addresses.h"

#include <boost/json.hpp>

#include "cli/text.h"
#include "net/json_writer.h"

namespace fathom::cli {

namespace {

Result<std::string> member(const boost::json::object& object, const char* key) {
  const boost::json::value* value = object.if_contains(key);
  if (value == nullptr || !value->is_string()) return corrupt(std::string("the line of addresses lacks ") + key);
  return std::string(value->get_string());
}

}  // namespace

std::string addresses_line(const Addresses& addresses) {
  std::string line;
  net::JsonWriter writer(line);
  writer.begin_object();
  writer.member("http", addresses.http);
  writer.member("otlp_grpc", addresses.otlp_grpc);
  writer.member("otlp_http", addresses.otlp_http);
  if (!addresses.query_grpc.empty()) writer.member("query_grpc", addresses.query_grpc);
  writer.end_object();
  return line + "\n";
}

Result<Addresses> parse_addresses(std::string_view line) {
  boost::json::error_code error;
  boost::json::value value = boost::json::parse({line.data(), line.size()}, error);
  if (error || !value.is_object()) return corrupt("not a line of addresses: " + printable(line));
  auto http = member(value.get_object(), "http");
  auto otlp_grpc = member(value.get_object(), "otlp_grpc");
  auto otlp_http = member(value.get_object(), "otlp_http");
  if (!http) return http.error();
  if (!otlp_grpc) return otlp_grpc.error();
  if (!otlp_http) return otlp_http.error();
  Addresses addresses{*http, *otlp_grpc, *otlp_http, ""};
  if (!value.get_object().contains("query_grpc")) return addresses;
  auto query_grpc = member(value.get_object(), "query_grpc");
  if (!query_grpc) return query_grpc.error();
  addresses.query_grpc = *query_grpc;
  return addresses;
}

}  // namespace fathom::cli
