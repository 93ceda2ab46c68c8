#include "bench/options.h"

#include <cassert>
#include <charconv>
#include <cstdio>

namespace fathom::bench {

namespace {

// Flags whose default is a number take numbers only.
bool is_number(std::string_view text) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= 0;
}

}  // namespace

Flag* Options::find(std::string_view name) {
  for (Flag& flag : flags_) {
    if (flag.name == name) return &flag;
  }
  return nullptr;
}

Result<> Options::parse(int argc, char** argv) {
  command_ = program_;
  for (int i = 1; i < argc; ++i) {
    command_ += std::string(" ") + argv[i];
    Flag* flag = find(argv[i]);
    if (flag == nullptr || i + 1 == argc) return invalid(std::string("cannot use '") + argv[i] + "'\n" + help());
    std::string value = argv[++i];
    if (is_number(flag->value) && !is_number(value))
      return invalid(std::string(flag->name) + " takes a number, not '" + value + "'");
    command_ += " " + value;
    flag->value = value;
  }
  return {};
}

std::optional<int> Options::parse_or_exit(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) != "--help" && std::string_view(argv[i]) != "-h") continue;
    std::fputs(help().c_str(), stdout);
    return 0;
  }
  const Result<> parsed = parse(argc, argv);
  if (parsed) return std::nullopt;
  std::fprintf(stderr, "%s: %s\n", std::string(program_).c_str(), parsed.error().message.c_str());
  return 2;
}

const std::string& Options::text(std::string_view name) const {
  const Flag* flag = const_cast<Options*>(this)->find(name);
  assert(flag != nullptr);
  return flag->value;
}

uint64_t Options::number(std::string_view name) const {
  return static_cast<uint64_t>(real(name));
}
double Options::real(std::string_view name) const {
  return std::stod(text(name));
}

bool Options::selects(std::string_view name, std::string_view item) const {
  std::string list = "," + text(name) + ",";
  return list == ",all," || list.find("," + std::string(item) + ",") != std::string::npos;
}

std::string Options::help() const {
  std::string out = "usage: " + program_ + " [--flag value]...\n";
  for (const Flag& flag : flags_) {
    std::string name(flag.name);
    name.resize(std::max<size_t>(name.size() + 2, 22), ' ');
    out += "  " + name + std::string(flag.help) + (flag.value.empty() ? "" : " (" + flag.value + ")") + "\n";
  }
  return out;
}

}  // namespace fathom::bench
