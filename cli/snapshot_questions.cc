// fathom snapshot calls and its like: each question is a verb of fathom-worker's.
#include "cli/filter_flags.h"
#include "cli/snapshot.h"
#include "cli/snapshot_worker.h"

namespace fathom::cli {

namespace {

CommandLine question_line(const std::string& verb, const std::string& summary, const std::string& about,
                          const std::vector<Flag>& own, const std::vector<Example>& examples) {
  return {"fathom snapshot " + verb,
          summary,
          about,
          {snapshot_positional()},
          join({own, question_flags(), worker_flags()}),
          examples};
}

std::vector<Flag> delta_flags() {
  return {{"--from", "PATTERN", "where a stretch begins: see above"}, {"--to", "PATTERN", "where it ends"}};
}

std::vector<Flag> source_flags() {
  return {{"--source", "", "show the text of source lines, where their files are on this host"},
          {"--source-dir", "FROM[=TO]",
           "show text of files whose names begin with FROM, from below the directory TO; FROM '.': names that are "
           "relative, '*/src': '/src' behind anything",
           "", true}};
}

std::vector<Flag> rank_flags() {
  return {
      {"--by", "time|instructions",
       "rank calls, and the rows that --limit keeps, by time including pauses, or by instructions; a snapshot without "
       "times is always ranked by instructions",
       "time"}};
}

std::vector<Flag> inline_flags() {
  return {{"--inlines", "", "above instructions that were inlined: each function around them, outermost first"}};
}

std::vector<Flag> count_flags() {
  return {{"--count", "", "two numbers alone: instructions that were decoded, then gaps"}};
}

CommandLine insns_line() {
  return question_line("insns", "every instruction that ran, in order",
                       "One line each: time, address, the instruction, function and offset, file and line. What the "
                       "compiler inlined has the line of its own text, which may be a header's; --inlines shows who "
                       "called it.",
                       join({count_flags(), inline_flags(), source_flags()}),
                       {{"fathom snapshot insns last --tid 4711 | less", "one thread, from the beginning"},
                        {"fathom snapshot insns last --source --inlines", "with the text of the lines, and of callers"},
                        {"fathom snapshot insns last --count", "how many there are, and how many gaps"}});
}

CommandLine calls_line() {
  return question_line(
      "calls", "where the time went, as a tree of calls",
      "A line is a function below the same callers: how often it was called there, its time and instructions with and "
      "without its callees, and the source line of the call; for an inlined function, its own line and the line where "
      "it was inlined. The first thread is the holder of a lock that other threads wait for; if that holder waits for "
      "a lock itself, the thread at the end of the chain of holders. The thread that the snapshot was taken for is "
      "next.",
      join({rank_flags(), source_flags()}),
      {{"fathom snapshot calls last", "the newest snapshot"},
       {"fathom snapshot calls last --by instructions", "the calls that ran most, without regard to waits"},
       {"fathom snapshot calls last --source", "with the text of these lines"},
       {"fathom snapshot calls last -o calls.svg", "the same as a flame graph, for a browser"}});
}

CommandLine functions_line() {
  return question_line(
      "functions", "how long each function took: count, p50, p99, max",
      "A call counts from its first instruction to its return, what it called included. Calls that a gap "
      "or the snapshot's ends cut are not measured, and counted apart.",
      {},
      {{"fathom snapshot functions last --limit 20", "the twenty that took longest"},
       {"fathom snapshot functions last --format json | jq '.functions[0]'", "for programs"}});
}

CommandLine delta_line() {
  return question_line(
      "delta", "from one instruction to another: how long, how many instructions, how often",
      "Three histograms: of time, of the number of instructions, and of how often it happened, of all stretches that "
      "begin where --from fits and end where --to fits. A PATTERN is an address (0x401000); a group of instructions: "
      "superCLI, superSTI (whatever turns interrupts off and on), syscall, lock, call, return, jump, branch, fpu, "
      "vector, fence; an instruction's name (cli, j*), also with its operands as insns prints them ('mov eax, *'); a "
      "line of source (main.cc:42); a function, where it is entered, or an instruction in it (shop::handle+0x10).",
      delta_flags(),
      {{"fathom snapshot delta last --from superCLI --to superSTI", "how long interrupts were off"},
       {"fathom snapshot delta last --from 'shop::lock' --to 'shop::unlock'", "how long a lock was held"}});
}

CommandLine syscalls_line() {
  return question_line("syscalls", "which system calls, and how long each took",
                       "From the instruction that enters the kernel to the first one back in the program.", {},
                       {{"fathom snapshot syscalls last", "per call: count, p50, p99, max"}});
}

CommandLine sunburst_line() {
  return question_line(
      "sunburst", "where the instructions went, as a picture in rings",
      "The inner ring are the outermost functions; an arc is as wide as the instructions that ran in it "
      "and in what it called.",
      {}, {{"fathom snapshot sunburst last -o sunburst.svg", "for a browser"}});
}

CommandLine stats_line() {
  return question_line("stats", "what a snapshot holds: packets by kind, bytes per instruction, gaps, images",
                       "Says what is missing, and why: begin here when an answer has gaps.", {},
                       {{"fathom snapshot stats last", "the newest snapshot"}});
}

CommandLine diff_line() {
  CommandLine line = question_line(
      "diff", "two executions of the same code: what is more, what is slower",
      "Calls that were added or removed, instructions and time that were gained or lost, from "
      "the first snapshot to the second: whatever differs in any of these, what changed most first, by time where both "
      "tell it in one unit, else by instructions.",
      {}, {{"fathom snapshot diff 3fa1 last", "an old one against the newest"}});
  line.positionals.push_back({"OTHER", "the second snapshot"});
  return line;
}

// A command's function carries nothing along, so its verb is a part of its name.
template <const Command& (*kCommand)()>
ExitCode run_question(const Args& args, const Context& context) {
  const CommandLine& line = kCommand().line;
  const std::string verb = line.name.substr(line.name.rfind(' ') + 1);
  return run_worker(args, context, {{verb, args.positional(0)}, line.flags, args.get("-o"), 1});
}

template <CommandLine (*kLine)()>
const Command& question() {
  static const Command kCommand{kLine(), run_question<question<kLine>>};
  return kCommand;
}

ExitCode run_diff(const Args& args, const Context& context) {
  std::vector<Flag> flags = join({question_flags(), worker_flags()});
  return run_worker(args, context, {{"diff", args.positional(0), args.positional(1)}, flags, args.get("-o"), 2});
}

const Command& diff() {
  static const Command kCommand{diff_line(), run_diff};
  return kCommand;
}

}  // namespace

std::vector<const Command*> snapshot_question_commands() {
  return {&question<calls_line>(),
          &question<functions_line>(),
          &question<insns_line>(),
          &question<delta_line>(),
          &question<syscalls_line>(),
          &question<sunburst_line>(),
          &diff(),
          &question<stats_line>()};
}

}  // namespace fathom::cli
