#include "cli/program.h"

#include <algorithm>

#include "cli/command.h"
#include "cli/help.h"
#include "cli/suggest.h"
#include "cli/text.h"

namespace fathom::cli {

namespace {

constexpr const char* kExitCodes =
    "exit codes:\n"
    "  0  done; queries also when nothing matches\n"
    "  1  the trace, capture or snapshot asked for is not there ('trace', 'timeline', 'export', 'snapshot'); nothing "
    "was captured ('capture'); nothing matches ('purge')\n"
    "  2  the command line is wrong\n"
    "  3  no server answers at the URL, or not in time\n"
    "  4  the server answered with an error\n"
    "  5  something failed on this host: a program did not start, or 'doctor' found a fault\n"
    "  6  'record' recorded nothing; a program that failed meanwhile, its own status is passed on\n"
    "  7  the data directory cannot be used as it is: incomplete, damaged, or written by a newer version ('up')\n"
    "     'store verify' found damage, or 'store repair' could not salvage everything; 'purge' left captures that "
    "nobody can decode\n"
    "  130  Ctrl-C ended 'demo --once' before it was done\n";

std::vector<const Command*> commands() {
  return {&demo_command(),    &up_command(),       &slowest_command(), &trace_command(),       &timeline_command(),
          &capture_command(), &captures_command(), &export_command(),  &tracepoints_command(), &services_command(),
          &latency_command(), &nodes_command(),    &page_command(),    &record_command(),      &snapshot_command(),
          &purge_command(),   &store_command(),    &doctor_command()};
}

// "fathom slowest" is the full name; "slowest" is what is typed. Of "fathom snapshot calls" it is "calls".
std::string short_name(const Command& command) {
  return command.line.name.substr(command.line.name.rfind(' ') + 1);
}

const Command* find_command(const std::vector<const Command*>& commands, const std::string& name) {
  for (const Command* command : commands) {
    if (short_name(*command) == name) return command;
  }
  return nullptr;
}

std::string program_help() {
  std::string text =
      "fathom: why was this request slow? Traces in, the slowest requests out.\n\n"
      "usage: fathom COMMAND [flags]\n\ncommands:\n";
  for (const Command* command : commands()) {
    text += "  " + pad_to_width(short_name(*command), 13, Align::kLeft) + command->line.summary + "\n";
  }
  text += std::string("\nfathom COMMAND --help says more, with examples.\n\n") +
          "to begin:\n"
          "  fathom demo                                 # a small shop, traced, and its slowest requests\n"
          "  fathom up                                   # a server; then, for any program with an OpenTelemetry SDK:\n"
          "  OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 OTEL_SERVICE_NAME=mine ./my-program\n"
          "  fathom slowest --since 15m                  # then: fathom trace TRACE_ID\n\n";
  return text + kExitCodes;
}

ExitCode unknown_command(const std::string& name, const std::string& of, const std::vector<const Command*>& commands,
                         const Context& context) {
  std::vector<std::string> known;
  for (const Command* command : commands) known.push_back(short_name(*command));
  context.fail("unknown command '" + printable(name) + "'" + did_you_mean(name, known) + "; see " + of + " --help");
  return ExitCode::kUsage;
}

ExitCode run_command(const Command& command, const std::vector<std::string>& words, const Context& context) {
  Result<Args> args = parse_args(command.line, words);
  if (!args) return failed(context, args.error());
  if (!args->wants_help()) return command.run(*args, context);
  context.out(command_help(command.line));
  return ExitCode::kOk;
}

bool asks_for_help(const std::string& word) {
  return word == "--help" || word == "-h" || word == "help";
}

ExitCode run_group(const Command& group, const std::vector<std::string>& words, const Context& context) {
  if (words.empty() || asks_for_help(words.front())) {
    std::vector<CommandLine> parts;
    for (const Command* part : group.parts) parts.push_back(part->line);
    (words.empty() ? context.err : context.out)(group_help(group.line, parts));
    return words.empty() ? ExitCode::kUsage : ExitCode::kOk;
  }
  const Command* part = find_command(group.parts, words.front());
  if (part == nullptr) return unknown_command(words.front(), group.line.name, group.parts, context);
  return run_command(*part, {words.begin() + 1, words.end()}, context);
}

// "fathom help slowest" is "fathom slowest --help".
std::vector<std::string> without_help_word(std::vector<std::string> words) {
  if (words.empty() || words.front() != "help") return words;
  words.erase(words.begin());
  words.push_back("--help");
  return words;
}

}  // namespace

ExitCode run_program(const std::vector<std::string>& given, const Context& context) {
  std::vector<std::string> words = without_help_word(given);
  if (words.empty()) {
    context.err(program_help());
    return ExitCode::kUsage;
  }
  const std::string& first = words.front();
  if (first == "--help" || first == "-h") {
    context.out(program_help());
    return ExitCode::kOk;
  }
  if (first == "--version" || first == "version") {
    context.out(std::string("fathom ") + kVersion + "\n");
    return ExitCode::kOk;
  }
  const Command* command = find_command(commands(), first);
  if (command == nullptr) return unknown_command(first, "fathom", commands(), context);
  const std::vector<std::string> rest(words.begin() + 1, words.end());
  return command->parts.empty() ? run_command(*command, rest, context) : run_group(*command, rest, context);
}

}  // namespace fathom::cli
