#include <unistd.h>

#include <filesystem>

#include "base/open_files.h"
#include "cli/addresses.h"
#include "cli/agent_socket.h"
#include "cli/api.h"
#include "cli/command.h"
#include "cli/doctor_checks.h"
#include "cli/filter_flags.h"
#include "cli/page_link.h"
#include "cli/places.h"
#include "cli/ports.h"
#include "cli/query_token.h"
#include "cli/security_flags.h"
#include "cli/server_flags.h"
#include "cli/supervisor.h"
#include "cli/up_security.h"
#include "net/address.h"

namespace fathom::cli {

namespace {

CommandLine up_line() {
  return {
      "fathom up",
      "start the server and the agent here, and keep them running",
      "Starts fathom-server, which takes spans and answers questions, and fathom-agent, which brings it the spans of "
      "this host's programs; starts again what dies. When all is ready, one line of JSON on standard output says "
      "where they listen; the log goes to standard error. Ctrl-C or SIGTERM end them. With certificates or tokens, "
      "SIGHUP has those that flags name read again; the server's certificate must then be for the host that --ingest "
      "names, too, for "
      "there its agent goes. Configuration files are fathom-server's and fathom-agent's own, which are then started "
      "without this.",
      {},
      join({place_flags(), up_security_flags(), agent_flags(), server_flags()}),
      {{"fathom up", "on the usual ports, data in your home"},
       {"fathom up --data /srv/fathom --otlp-grpc 0.0.0.0:4317 --ingest 0.0.0.0:7072", "for a whole network"},
       {"fathom up --tls-certificate srv.crt --tls-key srv.key --token-file tokens --collector-ca ca.crt",
        "with TLS, and for those who have a token"},
       {"fathom up --data /tmp/f --http 127.0.0.1:0 --otlp-grpc 127.0.0.1:0 --otlp-http 127.0.0.1:0 --agent-socket "
        "/tmp/f/agent.sock",
        "on free ports, for a test; read them from its output"}}};
}

Result<std::string> data_directory(const Args& args, const Context& context) {
  std::string directory = args.get("--data");
  // Usually a script's variable that is not set.
  if (args.given("--data") && directory.empty()) return invalid("--data: the directory's name is empty");
  if (directory.empty()) directory = default_data_directory(context.env("XDG_DATA_HOME"), context.env("HOME"));
  if (directory.empty()) return invalid("there is no home directory to keep data in; say where: --data DIR");
  return directory;
}

// `up` needs no known port for its own agent: where nobody chose one and the usual one is taken, any other will do.
Result<std::string> free_ingest_address(const Args& args) {
  Result<std::string> wanted = ingest_address(args);
  if (!wanted || args.given("--ingest") || !is_taken(*wanted)) return wanted;
  return std::string("127.0.0.1:0");
}

Result<Addresses> addresses_of(const Args& args) {
  Addresses addresses;
  for (auto [flag, address] : {std::pair("--http", &addresses.http), std::pair("--otlp-grpc", &addresses.otlp_grpc),
                               std::pair("--otlp-http", &addresses.otlp_http)}) {
    Result<std::string> given = args.address(flag);
    if (!given) return given.error();
    *address = *given;
  }
  Result<std::string> ingest = free_ingest_address(args);
  if (!ingest) return ingest.error();
  addresses.ingest = *ingest;
  if (args.get("--query-grpc").empty()) return addresses;
  Result<std::string> query_grpc = args.address("--query-grpc");
  if (!query_grpc) return query_grpc.error();
  addresses.query_grpc = *query_grpc;
  return addresses;
}

// All but the token and the addresses, which the supervisor keeps: a port that was free once stays over a restart.
std::vector<Flag> handed_on() {
  std::vector<Flag> flags = server_flags();
  std::erase_if(flags, [](const Flag& flag) { return flag.name == "--query-grpc" || flag.name == kQueryTokenFlag; });
  return flags;
}

// What is started, and where it listens: as asked for at first, as it turned out afterwards, so that a server that is
// started again has the same ports.
struct Plan {
  std::string server_program;
  std::string agent_program;
  std::string data;
  std::vector<std::string> server_words;
  std::vector<std::string> agent_words;
  std::string asked_ingest;
  std::string query_token_file;  // empty: queries need no token
  Addresses addresses;
  UpSecurity security;
  bool reloads = false;
  bool agent_reloads = false;

  std::string agents_address() const { return address_for_agent(asked_ingest, addresses.ingest); }
};

SupervisedOptions server_of(Plan& plan) {
  SupervisedOptions server;
  server.name = "server";
  server.reloads = plan.reloads;
  server.command = [&plan] {
    const Addresses& addresses = plan.addresses;
    std::vector<std::string> command{
        plan.server_program, "--http",   addresses.http,   "--otlp-grpc",        addresses.otlp_grpc, "--otlp-http",
        addresses.otlp_http, "--ingest", addresses.ingest, "--data=" + plan.data};
    if (!addresses.query_grpc.empty()) command.insert(command.end(), {"--query-grpc", addresses.query_grpc});
    command.insert(command.end(), plan.server_words.begin(), plan.server_words.end());
    return command;
  };
  server.on_ready = [&plan](std::string_view line) -> Result<> {
    Result<Addresses> bound = parse_addresses(line);
    if (!bound) return bound.error();
    if (bound->ingest.empty())
      return corrupt("it does not say where it takes agents' spans; is it of another version?");
    bound->agent_socket = plan.addresses.agent_socket;
    plan.addresses = *std::move(bound);
    return {};
  };
  return server;
}

SupervisedOptions agent_of(Plan& plan, FdStore& store) {
  SupervisedOptions agent;
  agent.name = "agent";
  agent.reloads = plan.agent_reloads;
  agent.store = &store;
  agent.command = [&plan] {
    std::vector<std::string> command{plan.agent_program,  "--agent-socket",      plan.addresses.agent_socket,
                                     "--collector",       plan.agents_address(), "--state",
                                     plan.data + "/agent"};
    command.insert(command.end(), plan.agent_words.begin(), plan.agent_words.end());
    return command;
  };
  agent.may_start = [&plan] { return try_as_agent(plan.security, plan.agents_address()); };
  agent.on_ready = [&plan](std::string_view line) -> Result<> {
    Result<std::string> socket = parse_agent_socket(line);
    if (!socket) return socket.error();
    plan.addresses.agent_socket = *std::move(socket);
    return {};
  };
  return agent;
}

// Else a person learns it from the first capture that is of little use. Asks the agent's program, so not while others
// are to be supervised.
std::string what_captures_lack(const Args& args, const Context& context) {
  std::string text;
  if (args.has("--no-captures") || args.get("--kernel-events") == "off") return text;
  for (const Finding& finding : check_sources(context)) {
    if (!finding.lacks.empty()) text += "captures will have " + finding.says + "; " + finding.cure + "\n";
  }
  return text;
}

// Queries are answered at an address of this host, too, where they are answered at all of them.
std::string page_url(const Plan& plan) {
  return "http://" + address_for_agent(plan.addresses.http, plan.addresses.http) + "/";
}

// Where the page is. Empty with TLS: its name is the certificate's.
std::string where_the_page_is(const Plan& plan, const Context& context) {
  if (plan.security.of_agent) return "";
  const std::string url = page_url(plan);
  if (plan.query_token_file.empty()) return "the page: " + url + "\n";
  // A log is read by others, too.
  if (::isatty(STDERR_FILENO) != 1)
    return "the page: " + url + " ('fathom page' prints a link that lets a browser in)\n";
  const std::string link = local_page_link(context, url, plan.query_token_file);
  return "the page: " + link + " (once, within ten minutes; 'fathom page' prints another link)\n";
}

// What is in it is for nobody else; one that exists is left as it is.
Result<> make_data_directory(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::create_directories(path, error)) return {};  // an error shows when the directory is used
  std::filesystem::permissions(path, std::filesystem::perms::owner_all, error);
  if (error) return internal("cannot make " + path + ": " + error.message());
  return {};
}

Result<> supervise(Plan& plan, const Args& args, const Context& context) {
  const std::string lacks = what_captures_lack(args, context);
  Signals signals(plan.reloads);
  if (Result<> made = make_data_directory(plan.data); !made) return made;
  raise_open_files();  // descriptors of programs' memory pass through here, and both children need many
  Result<FdStore> store = FdStore::make(plan.data);
  if (!store) return store.error();
  Supervisor supervisor(signals);
  supervisor.add(server_of(plan));
  supervisor.add(agent_of(plan, *store));
  bool was_ready = false;
  Result<> ended = supervisor.run([&] {
    was_ready = true;
    context.out(addresses_line(plan.addresses));
    context.err(where_the_page_is(plan, context));
    context.err(lacks);
  });
  // An agent leaves its socket to the one after it; here none comes any more.
  if (was_ready) ::unlink(plan.addresses.agent_socket.c_str());
  return ended;
}

// The agent's names of its flags; of the socket there is more to say.
std::vector<std::string> agent_words(const Args& args) {
  std::vector<std::string> words;
  for (std::string& word : words_of(args, agent_flags())) {
    constexpr std::string_view kHttp = "--agent-http=";
    if (word.starts_with("--agent-socket=")) continue;
    words.push_back(word.starts_with(kHttp) ? "--http=" + word.substr(kHttp.size()) : std::move(word));
  }
  return words;
}

// The server gets the file's name, so that both mean the same one.
Result<> choose_query_token(Plan& plan, const Args& args, const std::vector<std::string>& listens_at) {
  Result<ListenerFiles> files = listener_files(args, listens_at);
  if (!files) return files.error();
  const std::string asked = args.given(kQueryTokenFlag).value_or(kAutomaticQueryToken);
  auto file = query_token_file(asked, {*files, {plan.addresses.http, plan.addresses.query_grpc}, plan.data});
  if (!file) return file.error();
  plan.query_token_file = file->value_or("");
  const bool is_named = !plan.query_token_file.empty();
  // "none" was said; without a word, the server would warn.
  if (*file) plan.server_words.push_back("--query-token-file=" + (is_named ? plan.query_token_file : "none"));
  // It switches tracepoints, too. The server has made the file by the time that the agent starts.
  const std::string agent_http = args.get("--agent-http");
  if (!is_named || agent_http.empty()) return {};
  if (!net::is_loopback(agent_http) && files->tls.certificate.empty()) {
    return invalid("--agent-http: tokens would go to " + agent_http +
                   " in the clear; give --tls-certificate FILE and --tls-key FILE, listen on 127.0.0.1, or, if "
                   "everybody who reaches it may switch tracepoints, give --query-token-file none");
  }
  plan.agent_words.push_back("--token-file=" + plan.query_token_file);
  return {};
}

Result<Plan> plan_of(const Args& args, const Context& context) {
  Plan plan;
  Result<std::string> directory = data_directory(args, context);
  if (!directory) return directory.error();
  plan.data = *directory;
  Result<Addresses> addresses = addresses_of(args);
  if (!addresses) return addresses.error();
  if (Result<std::string> http = args.address("--agent-http"); !http && args.given("--agent-http")) return http.error();
  plan.addresses = *addresses;
  plan.asked_ingest = addresses->ingest;
  const std::vector<std::string> listens_at{addresses->http, addresses->otlp_grpc, addresses->otlp_http,
                                            addresses->ingest, addresses->query_grpc};
  auto security = up_security(args, listens_at);
  if (!security) return security.error();
  Result<AgentSocket> socket = choose_agent_socket(args, context, plan.data);
  if (!socket) return socket.error();
  plan.addresses.agent_socket = socket->path;
  if (!socket->found_by_itself && !args.given("--agent-socket")) {
    context.err("programs find this agent when they are told where it is: export FATHOM_AGENT_SOCKET=" + socket->path +
                "\n");
  }
  plan.server_words = words_of(args, handed_on());
  plan.agent_words = agent_words(args);
  if (Result<> chosen = choose_query_token(plan, args, listens_at); !chosen) return chosen.error();
  plan.server_words.insert(plan.server_words.end(), security->server_words.begin(), security->server_words.end());
  plan.agent_words.insert(plan.agent_words.end(), security->agent_words.begin(), security->agent_words.end());
  plan.reloads = !security->server_words.empty() || args.given(kQueryTokenFlag) || args.given("--audit-log");
  plan.agent_reloads = plan.reloads && !args.get("--agent-http").empty();
  plan.security = *std::move(security);
  return plan;
}

ExitCode run_up(const Args& args, const Context& context) {
  Result<Plan> plan = plan_of(args, context);
  if (!plan) return failed(context, plan.error());
  for (auto [name, program] :
       {std::pair("fathom-server", &plan->server_program), std::pair("fathom-agent", &plan->agent_program)}) {
    Result<std::string> found = sibling_program(context, name);
    if (!found) return failed_here(context, found.error());
    *program = *found;
  }
  Result<> ended = supervise(*plan, args, context);
  if (ended) return ExitCode::kOk;
  // What is wrong with the flags the program has said by then, and a second message would bury it.
  if (ended.error().code == ErrorCode::kInvalid) return ExitCode::kUsage;
  if (ended.error().code == ErrorCode::kCorrupt) {
    failed_here(context, ended.error());
    return ExitCode::kDataUnusable;
  }
  return failed_here(context, ended.error());
}

}  // namespace

const Command& up_command() {
  static const Command kCommand{up_line(), run_up};
  return kCommand;
}

}  // namespace fathom::cli
