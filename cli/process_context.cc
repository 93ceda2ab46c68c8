#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <thread>

#include "base/time.h"
#include "cli/context.h"
#include "cli/exit_codes.h"

namespace fathom::cli {

namespace {

[[noreturn]] void end_unwritten(int fault) {
  std::fprintf(stderr, "fathom: cannot write to standard output: %s\n", std::strerror(fault));
  ::_exit(static_cast<int>(ExitCode::kLocalFailure));
}

// All of it, whatever write() takes at once. A reader that went away ends us by SIGPIPE, as in any pipeline; any other
// failure (a full disk) must not look like success.
void write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && descriptor == STDERR_FILENO) return;
    if (written < 0) end_unwritten(errno);
    text.remove_prefix(static_cast<size_t>(written));
  }
}

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? std::nullopt : std::optional<std::string>(value);
}

bool environment_is_empty(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value == '\0';
}

size_t terminal_columns() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

bool wants_colour() {
  return ::isatty(STDOUT_FILENO) == 1 && !environment("NO_COLOR") && environment("TERM").value_or("") != "dumb";
}

// `send_by`: what sends over a client. People on the server's host need not name its token.
template <typename Send>
Send connect_by(Send (*send_by)(std::shared_ptr<net::HttpClient>), const std::string& url, uint64_t timeout_nano,
                net::ClientSecurity security) {
  security.finds_token = true;
  return send_by(std::make_shared<net::HttpClient>(url, timeout_nano, std::move(security)));
}

HttpGet get_by(std::shared_ptr<net::HttpClient> client) {
  return [client](std::string_view target) { return client->get(target); };
}

HttpPost post_by(std::shared_ptr<net::HttpClient> client) {
  return [client](std::string_view target, std::string_view json) {
    return client->post(target, "application/json", json);
  };
}

HttpPut put_by(std::shared_ptr<net::HttpClient> client) {
  return [client](std::string_view target, std::string_view bytes) {
    return client->put(target, "application/octet-stream", bytes);
  };
}

void sleep_for(uint64_t nano) {
  std::this_thread::sleep_for(std::chrono::nanoseconds(nano));
}

}  // namespace

Context process_context() {
  Context context;
  context.out = [](std::string_view text) { write_all(STDOUT_FILENO, text); };
  context.err = [](std::string_view text) { write_all(STDERR_FILENO, text); };
  context.env = environment;
  context.env_is_empty = environment_is_empty;
  using Security = net::ClientSecurity;
  context.connect = [](const std::string& url, uint64_t timeout_nano, const Security& security) {
    return connect_by<HttpGet>(get_by, url, timeout_nano, security);
  };
  context.connect_post = [](const std::string& url, uint64_t timeout_nano, const Security& security) {
    return connect_by<HttpPost>(post_by, url, timeout_nano, security);
  };
  context.connect_put = [](const std::string& url, uint64_t timeout_nano, const Security& security) {
    return connect_by<HttpPut>(put_by, url, timeout_nano, security);
  };
  context.now_unix_nano = fathom::now_unix_nano;
  context.sleep = sleep_for;
  context.colour = wants_colour();
  context.columns = terminal_columns();
  std::error_code ignored;
  context.executable = std::filesystem::read_symlink("/proc/self/exe", ignored).string();
  return context;
}

}  // namespace fathom::cli
