#include "bench/traced_node.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "bench/server.h"

namespace fathom::bench {

namespace {

Result<client::SpanPage*> make_page(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0 || ::ftruncate(fd, sizeof(client::SpanPage)) != 0) return unavailable("cannot make " + path);
  void* page = ::mmap(nullptr, sizeof(client::SpanPage), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  if (page == MAP_FAILED) return unavailable("cannot map " + path);
  return static_cast<client::SpanPage*>(page);
}

std::vector<std::string> command_of(const WriterOptions& options, const std::string& page) {
  return {beside_this_program("span_writer"),
          page,
          "--program",
          std::to_string(options.program),
          "--threads",
          std::to_string(options.threads),
          "--rate",
          std::to_string(options.rate),
          "--spans",
          std::to_string(options.spans)};
}

}  // namespace

Result<std::unique_ptr<TracedNode>> TracedNode::start(const std::string& work_directory, const std::string& collector,
                                                      const std::vector<std::string>& arguments) {
  Result<std::string> directory = make_run_directory(work_directory);
  if (!directory) return directory.error();
  std::unique_ptr<TracedNode> node(new TracedNode);
  node->directory_ = *directory;
  node->socket_ = *directory + "/agent.sock";
  ChildOptions child{{beside_this_program("fathom-agent"), "--agent-socket", node->socket_, "--collector", collector,
                      "--state", *directory + "/state"},
                     {},
                     *directory + "/agent.log"};
  child.command.insert(child.command.end(), arguments.begin(), arguments.end());
  Result<std::string> line = node->agent_.start(child);
  if (line) return node;
  node->directory_.clear();  // its log stays for whoever looks
  return line.error();
}

TracedNode::~TracedNode() {
  if (agent_.running()) (void)agent_.stop();
  std::error_code ignored;
  if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
}

Result<std::unique_ptr<SpanWriter>> SpanWriter::start(const TracedNode& node, const WriterOptions& options) {
  const std::string path = node.directory() + "/page-" + std::to_string(options.program);
  Result<client::SpanPage*> page = make_page(path);
  if (!page) return page.error();
  std::unique_ptr<SpanWriter> writer(new SpanWriter);
  writer->options_ = options;
  writer->page_ = *page;
  std::vector<std::string> command = command_of(options, path);
  std::vector<std::string> environment{"FATHOM_AGENT_SOCKET=" + node.socket(), "OTEL_SERVICE_NAME=writer",
                                       "FATHOM_POOL_MIB=" + std::to_string(options.pool_mib)};
  const int error = ::posix_spawn(&writer->pid_, command[0].c_str(), nullptr, nullptr, exec_pointers(command).data(),
                                  exec_pointers(environment).data());
  if (error == 0) return writer;
  writer->pid_ = -1;
  return unavailable("cannot start " + command[0] + ": " + std::strerror(error));
}

SpanWriter::~SpanWriter() {
  kill();
  ::munmap(page_, sizeof *page_);
}

uint64_t SpanWriter::finished_by_all() const {
  uint64_t sum = 0;
  for (uint32_t t = 0; t < options_.threads; ++t) sum += finished(t);
  return sum;
}

uint64_t SpanWriter::lost() const {
  uint64_t most = 0;
  for (uint32_t t = 0; t < options_.threads; ++t) most = std::max(most, page_->slots[t].lost.load());
  return most;
}

void SpanWriter::kill() {
  if (pid_ > 0) ::kill(pid_, SIGKILL);
  (void)wait();
}

int SpanWriter::wait() {
  if (pid_ <= 0) return -1;
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string trace_of(uint32_t program, uint32_t thread, uint64_t number) {
  char text[33];
  std::snprintf(text, sizeof text, "7370616e%08x%08x%08x", program, thread,
                static_cast<unsigned>(number / kSpansPerTrace));
  return text;
}

}  // namespace fathom::bench
