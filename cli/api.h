// Api: the server's JSON face as the subcommands use it: a target in, a checked document out.
//
// Errors, ready for exit_code_of(): kUnavailable and kDeadline when nobody answers, kNotFound for the query face's
// 404, kInternal with the server's own words for every other refusal, kCorrupt when the answer is no JSON (some other
// program listens there). Thread safety: one thread. Ownership: keeps the connection for its life.
#pragma once

#include <boost/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cli/args.h"
#include "cli/context.h"

namespace fathom::cli {

// "/api/v1/slowest" and its parameters, percent-encoded as they are added.
class Target {
 public:
  explicit Target(std::string path) : text_(std::move(path)) {}
  Target& add(std::string_view key, std::string_view value);
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  bool has_query_ = false;
};

class Api {
 public:
  // `timeout_nano`, when given, is also asked of the server for each query.
  explicit Api(HttpGet get, std::optional<uint64_t> timeout_nano = std::nullopt, HttpPost post = nullptr,
               HttpPut put = nullptr)
      : get_(std::move(get)), post_(std::move(post)), put_(std::move(put)), timeout_nano_(timeout_nano) {}
  // The body of a successful answer, as the server wrote it.
  Result<std::string> fetch(const Target& target) const;
  // The same, parsed.
  Result<boost::json::value> json(const Target& target) const;
  // What the server answers to a document.
  Result<boost::json::value> post(const Target& target, std::string_view json) const;
  // What it answers to bytes: 200, 409 (another part is due) or 503 (try again); others are errors.
  Result<net::HttpReply> put(const Target& target, std::string_view bytes) const;

 private:
  HttpGet get_;
  HttpPost post_;
  HttpPut put_;
  std::optional<uint64_t> timeout_nano_;
};

Result<boost::json::value> parse_json(std::string_view text);

// Members of an answer, with something harmless where a server of another version has none.
std::string text_of(const boost::json::value& object, std::string_view key);
uint64_t number_of(const boost::json::value& object, std::string_view key);  // also decimal strings
double real_of(const boost::json::value& object, std::string_view key);
bool flag_of(const boost::json::value& object, std::string_view key);
const boost::json::array& array_of(const boost::json::value& object, std::string_view key);
const boost::json::value& member_of(const boost::json::value& object, std::string_view key);

// --url and --timeout, which every command that asks a server has.
std::vector<Flag> connection_flags();
// The server that connect() asks.
std::string server_url(const Args& args, const Context& context);
// `longer_nano`: how much longer than --timeout a post may take, because something is waited for.
Result<Api> connect(const Args& args, const Context& context, uint64_t longer_nano = 0);

}  // namespace fathom::cli
