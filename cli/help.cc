#include "cli/help.h"

#include <algorithm>
#include <sstream>

#include "cli/text.h"

namespace fathom::cli {

namespace {

constexpr size_t kHelpColumns = 100;
constexpr size_t kIndent = 2;

std::string flag_label(const Flag& flag) {
  if (flag.value.empty()) return flag.name;
  return flag.name + " " + flag.value + (flag.repeatable ? " ..." : "");
}

std::string positional_label(const Positional& positional) {
  return positional.repeatable ? "[" + positional.name + " ...]" : positional.name;
}

std::string usage(const CommandLine& line) {
  std::string text = "usage: " + line.name;
  for (const Positional& positional : line.positionals) text += " " + positional_label(positional);
  if (!line.flags.empty()) text += " [flags]";
  return text + "\n";
}

// Two columns: the labels, and what they mean.
std::string list(const std::vector<std::pair<std::string, std::string>>& entries) {
  size_t widest = 0;
  for (const auto& [label, text] : entries) widest = std::max(widest, display_width(label));
  size_t indent = kIndent + widest + 2;
  std::string out;
  for (const auto& [label, text] : entries) {
    out += std::string(kIndent, ' ') + pad_to_width(label, widest + 2, Align::kLeft) +
           wrap(text, kHelpColumns, indent) + "\n";
  }
  return out;
}

std::string flags_section(const CommandLine& line) {
  std::vector<std::pair<std::string, std::string>> entries;
  for (const Positional& positional : line.positionals) entries.emplace_back(positional.name, positional.help);
  for (const Flag& flag : line.flags) {
    std::string fallback = flag.fallback.empty() ? "" : " (default: " + flag.fallback + ")";
    entries.emplace_back(flag_label(flag), flag.help + fallback);
  }
  entries.emplace_back("--help", "this text");
  return "\n" + list(entries);
}

std::string examples_section(const CommandLine& line) {
  if (line.examples.empty()) return "";
  std::string out = "\nexamples:\n";
  for (const Example& example : line.examples) {
    out += "  # " + example.says + "\n  " + example.command + "\n";
  }
  return out;
}

}  // namespace

std::string wrap(const std::string& text, size_t width, size_t indent) {
  std::istringstream words(text);
  std::string out;
  std::string word;
  size_t column = indent;
  while (words >> word) {
    size_t needed = display_width(word) + (out.empty() ? 0 : 1);
    bool breaks = !out.empty() && column + needed > width;
    if (breaks) {
      out += "\n" + std::string(indent, ' ');
      column = indent + needed - 1;
    } else {
      out += out.empty() ? "" : " ";
      column += needed;
    }
    out += word;
  }
  return out;
}

std::string group_help(const CommandLine& line, const std::vector<CommandLine>& parts) {
  std::vector<std::pair<std::string, std::string>> entries;
  for (const CommandLine& part : parts) entries.emplace_back(part.name.substr(line.name.size() + 1), part.summary);
  return line.name + ": " + line.summary + "\n\nusage: " + line.name + " COMMAND [flags]\n\n" +
         wrap(line.about, kHelpColumns, 0) + "\n\ncommands:\n" + list(entries) + "\n" + line.name +
         " COMMAND --help says more, with examples.\n" + examples_section(line);
}

std::string command_help(const CommandLine& line) {
  std::string about = line.about.empty() ? "" : "\n" + wrap(line.about, kHelpColumns, 0) + "\n";
  return line.name + ": " + line.summary + "\n\n" + usage(line) + about + flags_section(line) + examples_section(line);
}

}  // namespace fathom::cli
