// fathom snapshot import, export, remove: snapshots as things that come, lie there and go.
#include "cli/filter_flags.h"
#include "cli/shell_word.h"
#include "cli/snapshot.h"
#include "cli/snapshot_worker.h"

namespace fathom::cli {

namespace {

std::vector<Flag> import_flags() {
  return {{"--image", "FILE[@HEXBASE]",
           "code: an ELF file lies at its own addresses, or with a base there; any other file needs a base. Of a "
           "perf.data it is taken for what was recorded with its build-id",
           "", true},
          {"--symfs", "DIR", "perf.data: look for the programs that it names below DIR"},
          {"--kcore", "FILE", "perf.data: the kernel's code, kcore_dir/kcore of 'perf record --kcore'"},
          {"--pt", "FILE", "a raw stream of packets instead of a perf.data"},
          {"--cpu", "FAMILY/MODEL/STEPPING", "--pt: the processor that wrote it, as /proc/cpuinfo has it"},
          {"--mtc-freq", "N", "--pt: IA32_RTIT_CTL.MTCFreq, which times need (mtc_period of perf)"},
          {"--nom-freq", "N", "--pt: the processor's ratio without turbo, MSR_PLATFORM_INFO[15:8]"},
          {"--cpuid-0x15", "EAX/EBX", "--pt: CPUID leaf 0x15, the ratio of counter and crystal clock"}};
}

CommandLine import_line() {
  return {"fathom snapshot import",
          "take over a perf.data, or a raw stream of packets",
          "Reads what 'perf record -e intel_pt//' wrote; perf is not needed for it. The code that ran is copied from "
          "this host's files where their build-ids are those that were recorded; what is not found is said, and will "
          "be gaps. Prints {\"snapshot_id\":\"...\"}.",
          {{"FILE", "a perf.data; without --pt", true}},
          join({import_flags(), worker_flags()}),
          {{"perf record -e intel_pt//u -- ls && fathom snapshot import perf.data", "where a host has Intel PT"},
           {"fathom snapshot import perf.data --symfs /mnt/other-host", "recorded elsewhere, with its files at hand"},
           {"fathom snapshot import --pt loop.pt --cpu 6/142/10 --image loop", "a raw stream of one program"},
           {"fathom snapshot import --pt loop.pt --cpu 6/142/10 --image code.bin@401000", "whose code is flat bytes"}}};
}

ExitCode run_import(const Args& args, const Context& context) {
  std::vector<std::string> words{"import"};
  for (const std::string& file : args.positionals_from(0)) words.push_back(file);
  if (words.size() == 1 && !args.given("--pt")) {
    return failed(context, invalid("what shall be imported? write fathom snapshot import perf.data, or --pt FILE"));
  }
  const ExitCode code = run_worker(args, context, {words, join({import_flags(), worker_flags()}), ""});
  if (code == ExitCode::kOk) context.err("next: fathom snapshot calls last" + directory_words(args) + "\n");
  return code;
}

CommandLine remove_line() {
  return {"fathom snapshot remove",
          "take a snapshot away, with answers about it and code that only it needs",
          "",
          {snapshot_positional()},
          worker_flags(),
          {{"fathom snapshot remove 3fa1", "by the beginning of its id"}}};
}

ExitCode run_remove(const Args& args, const Context& context) {
  return run_worker(args, context, {{"remove", args.positional(0)}, worker_flags(), ""});
}

std::vector<Flag> export_own_flags() {
  return {
      {"--perfetto", "FILE", "calls on a time line, for ui.perfetto.dev or a page of your own; - is standard output"},
      {"--pprof", "FILE", "a profile by time and by instructions, for 'pprof' and pages that read it"}};
}

std::vector<Flag> export_passed_flags() {
  return join({{{"--tid", "N", "this thread alone"}, {"--threads", "N", "to decode with; 0: one per processor", "0"}},
               worker_flags()});
}

CommandLine snapshot_export_line() {
  return {"fathom snapshot export",
          "as a file for another program's page: Perfetto, pprof",
          "",
          {snapshot_positional()},
          join({export_own_flags(), export_passed_flags()}),
          {{"fathom snapshot export last --perfetto calls.pftrace", "open it at ui.perfetto.dev"},
           {"fathom snapshot export last --pprof profile.pb.gz && pprof -http : profile.pb.gz", "by Go's pprof"},
           {"fathom snapshot export last --perfetto calls.pftrace --pprof profile.pb.gz", "both"}}};
}

// Each format in a file of its own, one after the other.
ExitCode run_snapshot_export(const Args& args, const Context& context) {
  const auto perfetto = args.given("--perfetto"), pprof = args.given("--pprof");
  if (!perfetto && !pprof) {
    return failed(context, invalid("--perfetto FILE or --pprof FILE says where to write it, and in which format"));
  }
  if (perfetto == pprof) return failed(context, invalid("--perfetto and --pprof want a file each"));
  const auto write = [&](const char* verb, const std::string& file, const std::string& opens_it) {
    const ExitCode code = run_worker(args, context, {{verb, args.positional(0)}, export_passed_flags(), file, 1});
    if (code == ExitCode::kOk && file != "-") context.err("wrote " + printable(file) + "; " + opens_it + "\n");
    return code;
  };
  ExitCode code = ExitCode::kOk;
  if (perfetto) code = write("perfetto", *perfetto, "open it at ui.perfetto.dev");
  if (pprof && code == ExitCode::kOk) code = write("pprof", *pprof, "go tool pprof -http : " + shell_word(*pprof));
  return code;
}

}  // namespace

std::vector<const Command*> snapshot_file_commands() {
  static const Command kImport{import_line(), run_import};
  static const Command kExport{snapshot_export_line(), run_snapshot_export};
  static const Command kRemove{remove_line(), run_remove};
  return {&kImport, &snapshot_list_command(), &kExport, &kRemove};
}

}  // namespace fathom::cli
