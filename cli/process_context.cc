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

HttpGet connect_http(const std::string& url, uint64_t timeout_nano, const net::ClientSecurity& security) {
  auto client = std::make_shared<net::HttpClient>(url, timeout_nano, security);
  return [client](std::string_view target) { return client->get(target); };
}

HttpPost connect_http_post(const std::string& url, uint64_t timeout_nano, const net::ClientSecurity& security) {
  auto client = std::make_shared<net::HttpClient>(url, timeout_nano, security);
  return [client](std::string_view target, std::string_view json) {
    return client->post(target, "application/json", json);
  };
}

HttpPut connect_http_put(const std::string& url, uint64_t timeout_nano, const net::ClientSecurity& security) {
  auto client = std::make_shared<net::HttpClient>(url, timeout_nano, security);
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
  context.connect = connect_http;
  context.connect_post = connect_http_post;
  context.connect_put = connect_http_put;
  context.now_unix_nano = fathom::now_unix_nano;
  context.sleep = sleep_for;
  context.colour = wants_colour();
  context.columns = terminal_columns();
  std::error_code ignored;
  context.executable = std::filesystem::read_symlink("/proc/self/exe", ignored).string();
  return context;
}

}  // namespace fathom::cli
