#include "cli/addresses.h"

#include <gtest/gtest.h>

namespace fathom::cli {
namespace {

TEST(AddressLine, BackAndForth) {
  Addresses addresses{"127.0.0.1:1", "[::1]:2", "h:3", "", "i:4", "/a"};
  EXPECT_EQ(addresses_line(addresses),
            R"({"http":"127.0.0.1:1","otlp_grpc":"[::1]:2","otlp_http":"h:3","ingest":"i:4","agent_socket":"/a"})"
            "\n");
  EXPECT_EQ(*parse_addresses(addresses_line(addresses)), addresses);
  addresses.query_grpc = "q:5";
  EXPECT_EQ(*parse_addresses(addresses_line(addresses)), addresses);
  for (const char* text :
       {"", "ready", "[]", "{}", R"({"http":"a","otlp_grpc":"b"})", R"({"http":1,"otlp_grpc":"","otlp_http":""})",
        R"({"http":"a","otlp_grpc":"b","otlp_http":"c","query_grpc":7})",
        R"({"http":"a","otlp_grpc":"b","otlp_http":"c","ingest":1})"}) {
    EXPECT_FALSE(parse_addresses(text).ok()) << text;
  }
}

TEST(AddressLine, OfAnAgent) {
  Addresses addresses;
  addresses.agent_socket = "/run/a";
  EXPECT_EQ(addresses_line(addresses), "{\"agent_socket\":\"/run/a\"}\n");
  EXPECT_EQ(*parse_agent_socket(addresses_line(addresses)), "/run/a");
  EXPECT_FALSE(parse_agent_socket("{}").ok());
}

}  // namespace
}  // namespace fathom::cli
