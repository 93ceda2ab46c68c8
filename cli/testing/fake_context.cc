#include "cli/testing/fake_context.h"

#include "cli/program.h"
#include "net/uri.h"

namespace fathom::cli {

Context FakeWorld::context() {
  Context context;
  context.out = [this](std::string_view text) { out += text; };
  context.err = [this](std::string_view text) { err += text; };
  context.env = [this](const char* name) -> std::optional<std::string> {
    auto found = environment.find(name);
    return found == environment.end() || found->second.empty() ? std::nullopt : std::optional(found->second);
  };
  context.env_is_empty = [this](const char* name) {
    auto found = environment.find(name);
    return found != environment.end() && found->second.empty();
  };
  context.connect = [this](const std::string& url, uint64_t, const net::ClientSecurity&) -> HttpGet {
    urls.push_back(url);
    return [this](std::string_view target) { return reply(target); };
  };
  context.connect_post = [this](const std::string&, uint64_t, const net::ClientSecurity&) -> HttpPost {
    return [this](std::string_view target, std::string_view json) {
      posted.emplace_back(json);
      return reply(target);
    };
  };
  context.connect_put = [this](const std::string&, uint64_t, const net::ClientSecurity&) -> HttpPut {
    return [this](std::string_view target, std::string_view bytes) {
      put.emplace_back(bytes);
      return reply(target);
    };
  };
  context.now_unix_nano = [] { return kNow; };
  context.sleep = [this](uint64_t nano) { slept_nano += nano; };
  context.executable = executable;
  return context;
}

void FakeWorld::answer(Error error) {
  answers_.push_back(std::move(error));
}

void FakeWorld::answer(int status, std::string body) {
  net::HttpReply reply;
  reply.status = status;
  reply.body = std::move(body);
  answers_.push_back(std::move(reply));
}

ExitCode FakeWorld::run(const std::vector<std::string>& words) {
  return run_program(words, context());
}

Result<net::HttpReply> FakeWorld::reply(std::string_view target) {
  targets.emplace_back(target);
  if (answers_.empty()) return unavailable("nobody answers at 127.0.0.1:7070");
  Result<net::HttpReply> next = answers_.front();
  if (answers_.size() > 1) answers_.pop_front();
  return next;
}

std::string decoded_target(const std::string& text) {
  Result<net::Target> target = net::parse_target(text);
  if (!target) return "malformed: " + text;
  std::string out = target->path;
  for (const auto& [key, value] : target->query) out += " " + key + "=" + value;
  return out;
}

}  // namespace fathom::cli
