// Configuration files of any bytes: either an error of one line that names the file, or values that come out the same
// when they are written down and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "cli/config_file.h"
#include "cli/filter_flags.h"
#include "cli/security_flags.h"
#include "cli/server_flags.h"

namespace fathom::cli {

namespace {

const CommandLine& program() {
  static const CommandLine kLine{
      "fathom-server",
      "",
      "",
      {},
      join({config_flags(),
            place_flags(),
            listener_security_flags(),
            server_flags(),
            {{"--again", "X", "may be given several times", "", true}, {"--switch", "", "a switch"}}}),
      {}};
  return kLine;
}

void require(bool fine) {
  if (!fine) std::abort();
}

std::string written_down(const ConfigFile& file) {
  std::string text;
  for (const auto& [flag, line] : file.lines) {
    const std::string key = flag.substr(2);
    if (flag == "--switch") {
      text += key + " = " + (file.args.has(flag) ? "yes" : "no") + "\n";
      continue;
    }
    for (const std::string& value : file.args.all(flag))
      text += key + "=" + value + "\n";  // a # behind a blank would begin a comment
  }
  return text;
}

// Everything that a program asks of a file, and what it says of a value that is wrong.
void use(const ConfigFile& file) {
  for (const auto& [flag, line] : file.lines) {
    const Error located = file.located(invalid(flag + ": is wrong"));
    require(located.message.starts_with("f:" + std::to_string(line) + ": "));
    (void)file.args.duration_nano(flag);
    (void)file.args.size_bytes(flag);
    (void)file.args.number(flag, 0, 10);
    (void)file.args.address(flag);
  }
  (void)log_level(file.args);
  (void)listener_files(file.args, {file.args.get("--http")});
}

void read(std::string_view text) {
  const Result<ConfigFile> file = parse_config(program(), "f", text);
  if (!file) {
    require(file.error().message.starts_with("f:") && file.error().message.find('\n') == std::string::npos);
    return;
  }
  use(*file);
  const Result<ConfigFile> again = parse_config(program(), "f", written_down(*file));
  require(again.ok() && changed_keys(program(), file->args, again->args).empty());
}

}  // namespace

}  // namespace fathom::cli

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fathom::cli::read({reinterpret_cast<const char*>(data), size});
  return 0;
}
