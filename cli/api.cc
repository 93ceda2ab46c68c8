#include "cli/api.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>

#include "base/time.h"
#include "cli/exact_json.h"
#include "cli/security_flags.h"
#include "cli/text.h"
#include "net/address.h"

namespace fathom::cli {

namespace {

constexpr const char* kDefaultUrl = "http://127.0.0.1:7070";
constexpr uint64_t kLongestServerTimeoutNano = 60 * kNanosPerSecond;  // servers refuse to be asked for more
constexpr const char* kWrongFace = "; is that fathom's address for queries (--http, by default port 7070)?";
constexpr size_t kQuotedBytes = 300;  // of a foreign server's answer

// {"error":{"message":"..."}} or {"error":"..."} or plain text.
std::string refusal_text(const std::string& body) {
  auto document = parse_json(body);
  if (document) {
    const boost::json::value& error = member_of(*document, "error");
    std::string message = error.is_string() ? text_of(*document, "error") : text_of(error, "message");
    if (message.empty()) message = text_of(*document, "message");
    if (!message.empty()) return printable(message);
  }
  size_t end = body.find_last_not_of(" \r\n");
  return printable(std::string_view(body).substr(0, std::min(kQuotedBytes, end == std::string::npos ? 0 : end + 1)));
}

// Refusals of the query face are {"error":{...}}, and /readyz has words of its own; another face of fathom, or another
// program, says something else.
bool is_from_fathom(const std::string& body) {
  if (body.starts_with("not ready: ")) return true;
  auto document = parse_json(body);
  return document && !member_of(*document, "error").is_null();
}

// A token that could not be found safely must not be sent by hand either: who knows who listens there.
std::string token_cure(const net::HttpReply& reply) {
  if (reply.why_no_token.empty()) return "; give one: --token-file FILE";
  return "; " + printable(reply.why_no_token) +
         ". Run this as the user who runs the server, or as root; if you do, check which program listens at this port";
}

Error refusal(const net::HttpReply& reply) {
  std::string says = refusal_text(reply.body);
  if (reply.status == 401) return {ErrorCode::kInternal, "401: " + says + token_cure(reply)};
  if (reply.status == 404 && is_from_fathom(reply.body)) return not_found(says.empty() ? "not found" : says);
  std::string hint = is_from_fathom(reply.body) ? "" : kWrongFace;
  return internal("the server answered " + std::to_string(reply.status) + (says.empty() ? "" : ": " + says) + hint);
}

// "http://host:1/base/" as where to connect, and what stands before every target: "http://host:1", "/base".
std::pair<std::string, std::string> split_url(const std::string& url) {
  size_t scheme = url.find("://");
  size_t path = url.find('/', scheme == std::string::npos ? 0 : scheme + 3);
  if (path == std::string::npos) return {url, ""};
  std::string prefix = url.substr(path);
  prefix.erase(prefix.find_last_not_of('/') + 1);
  return {url.substr(0, path), prefix};
}

HttpGet with_prefix(HttpGet get, const std::string& prefix) {
  if (prefix.empty()) return get;
  return [get = std::move(get), prefix](std::string_view target) { return get(prefix + std::string(target)); };
}

// Of a post and of a put alike.
HttpPost with_prefix(HttpPost send, const std::string& prefix) {
  if (prefix.empty()) return send;
  return [send = std::move(send), prefix](std::string_view target, std::string_view body) {
    return send(prefix + std::string(target), body);
  };
}

// A token is for who runs the server: not for everybody on the way.
Result<> check_secrecy(const net::ClientSecurity& security, const std::string& server) {
  constexpr std::string_view kSecure = "https://", kPlain = "http://";
  if (security.token_file.empty() || server.starts_with(kSecure)) return {};
  const std::string address = server.starts_with(kPlain) ? server.substr(kPlain.size()) : server;
  if (net::is_loopback(address) || net::is_loopback(address + ":80")) return {};
  return invalid("--token-file: the token would go to " + printable(server) +
                 " in the clear; the server must speak TLS, and the URL begin with https://");
}

constexpr std::string_view kLostBatches = "\"lost_batches\":{\"losses\":";

// What is lost, by a mark; at most 0 batches means that only captures may be lost.
std::string lost_things(const boost::json::value& lost) {
  const boost::json::value& most = member_of(lost, "most_batches");
  if (most.is_null()) return "destroyed an unknown number of batches of spans";
  const uint64_t batches = number_of(lost, "most_batches");
  return batches == 0 ? "may have destroyed captures" : "destroyed at most " + plural(batches, "batch") + " of spans";
}

// The sentence for an answer's mark that batches are lost (query/lost_batches.h); empty without one.
std::string lost_batches_note(const std::string& body) {
  const size_t mark = body.rfind(kLostBatches);
  if (mark == std::string::npos) return "";
  const size_t begin = body.find('{', mark), end = body.find('}', mark);
  auto lost = parse_json(std::string_view(body).substr(begin, end - begin + 1));
  if (!lost) return "";
  return "fathom: damage to the server's disk " + lost_things(*lost) + ", received between " +
         format_instant(number_of(*lost, "first_received_unix_nano")) + " and " +
         format_instant(number_of(*lost, "last_received_unix_nano")) + "; this answer may miss them\n";
}

// Reports lost batches on standard error, once per command.
HttpGet with_loss_note(HttpGet get, const std::function<void(std::string_view)>& err) {
  return [get = std::move(get), err, reported = std::make_shared<bool>(false)](std::string_view target) {
    Result<net::HttpReply> reply = get(target);
    const std::string note = reply && !*reported ? lost_batches_note(reply->body) : "";
    if (!note.empty()) err(note);
    *reported |= !note.empty();
    return reply;
  };
}

Result<net::ClientSecurity> security_of(const Args& args, const Context& context, const std::string& server) {
  net::ClientSecurity security = client_security(args, "--");
  for (auto [name, value] :
       {std::pair("FATHOM_CA", &security.ca), std::pair("FATHOM_CERTIFICATE", &security.certificate),
        std::pair("FATHOM_KEY", &security.key), std::pair("FATHOM_TOKEN_FILE", &security.token_file)}) {
    if (value->empty()) *value = context.env(name).value_or("");
  }
  if (Result<> secret = check_secrecy(security, server); !secret) return secret.error();
  return security;
}

}  // namespace

Target& Target::add(std::string_view key, std::string_view value) {
  text_ += has_query_ ? "&" : "?";
  text_ += net::percent_encode(key) + "=" + net::percent_encode(value);
  has_query_ = true;
  return *this;
}

Result<std::string> Api::fetch(const Target& target) const {
  Target asked = target;
  if (timeout_nano_) asked.add("timeout", std::to_string(*timeout_nano_) + "ns");
  Result<net::HttpReply> reply = get_(asked.text());
  if (!reply) return reply.error();
  if (reply->status != 200) return refusal(*reply);
  return std::move(reply->body);
}

Result<boost::json::value> Api::json(const Target& target) const {
  Result<std::string> body = fetch(target);
  if (!body) return body.error();
  return parse_json(*body);
}

Result<boost::json::value> Api::post(const Target& target, std::string_view json) const {
  Result<net::HttpReply> reply = post_(target.text(), json);
  if (!reply) return reply.error();
  if (reply->status != 200 && reply->status != 202) return refusal(*reply);
  return parse_json(reply->body);
}

Result<net::HttpReply> Api::put(const Target& target, std::string_view bytes) const {
  Result<net::HttpReply> reply = put_(target.text(), bytes);
  if (!reply) return reply.error();
  const bool ours =
      reply->status == 200 || ((reply->status == 409 || reply->status == 503) && is_from_fathom(reply->body));
  if (!ours) return refusal(*reply);
  return reply;
}

Result<boost::json::value> parse_json(std::string_view text) {
  Result<boost::json::value> value = parse_exactly(text);
  if (!value) return corrupt("the answer is not JSON; is it fathom that listens at this URL?");
  return value;
}

const boost::json::value& member_of(const boost::json::value& object, std::string_view key) {
  static const boost::json::value kNothing;
  if (!object.is_object()) return kNothing;
  const boost::json::value* found = object.get_object().if_contains({key.data(), key.size()});
  return found == nullptr ? kNothing : *found;
}

std::string text_of(const boost::json::value& object, std::string_view key) {
  const boost::json::value& value = member_of(object, key);
  return value.is_string() ? std::string(value.get_string()) : std::string();
}

uint64_t number_of(const boost::json::value& object, std::string_view key) {
  const boost::json::value& value = member_of(object, key);
  if (value.is_uint64()) return value.get_uint64();
  if (value.is_int64()) return static_cast<uint64_t>(std::max<int64_t>(value.get_int64(), 0));
  if (value.is_double()) return static_cast<uint64_t>(std::clamp(value.get_double(), 0.0, 1.8e19));
  uint64_t number = 0;
  if (value.is_string()) {
    const boost::json::string& text = value.get_string();
    std::from_chars(text.data(), text.data() + text.size(), number);
  }
  return number;
}

double real_of(const boost::json::value& object, std::string_view key) {
  const boost::json::value& value = member_of(object, key);
  return value.is_number() ? value.to_number<double>() : 0;
}

bool flag_of(const boost::json::value& object, std::string_view key) {
  const boost::json::value& value = member_of(object, key);
  return value.is_bool() && value.get_bool();
}

const boost::json::array& array_of(const boost::json::value& object, std::string_view key) {
  static const boost::json::array kNone;
  const boost::json::value& value = member_of(object, key);
  return value.is_array() ? value.get_array() : kNone;
}

std::vector<Flag> connection_flags() {
  std::vector<Flag> flags = {{"--url", "URL",
                              "where the server's HTTP face is, http:// or https://; a path goes before all others "
                              "(default: $FATHOM_URL, or " +
                                  std::string(kDefaultUrl) + ")"},
                             {"--timeout", "D", "how long to wait for an answer", "30s"}};
  for (Flag& flag : client_security_flags("--", "the server", "FATHOM_")) flags.push_back(std::move(flag));
  return flags;
}

std::string server_url(const Args& args, const Context& context) {
  std::string url = args.get("--url");
  if (url.empty()) url = context.env("FATHOM_URL").value_or("");
  return url.empty() ? kDefaultUrl : url;
}

Result<Api> connect(const Args& args, const Context& context, uint64_t longer_nano) {
  const std::string url = server_url(args, context);
  if (url.find_first_of("?#") != std::string::npos) {
    return invalid("'" + printable(url) + "' is not a server's URL: write http://HOST:PORT, or http://HOST:PORT/PATH");
  }
  Result<uint64_t> timeout = args.duration_nano("--timeout");
  if (!timeout) return timeout.error();
  std::optional<uint64_t> asked;
  if (args.given("--timeout")) asked = std::min(*timeout, kLongestServerTimeoutNano);
  auto [server, prefix] = split_url(url);
  Result<net::ClientSecurity> security = security_of(args, context, server);
  if (!security) return security.error();
  return Api(with_loss_note(with_prefix(context.connect(server, *timeout, *security), prefix), context.err), asked,
             with_prefix(context.connect_post(server, *timeout + longer_nano, *security), prefix),
             with_prefix(context.connect_put(server, *timeout + longer_nano, *security), prefix));
}

}  // namespace fathom::cli
