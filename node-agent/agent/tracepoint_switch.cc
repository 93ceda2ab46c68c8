#include "node-agent/agent/tracepoint_switch.h"

namespace fathom::agent {

namespace {

// Programs may name their service at any time.
constexpr uint64_t kLookNano = 500'000'000;

std::string message_of(const std::string& patterns) {
  pool::TracepointsMessage head{.magic = pool::kTracepointsMagic,
                                .version = pool::kSocketVersion,
                                .bytes = static_cast<uint32_t>(patterns.size())};
  return std::string(reinterpret_cast<const char*>(&head), sizeof head) + patterns;
}

}  // namespace

Result<> TracepointSwitch::add(const TracepointSelector& selector, std::string_view patterns, RuleOrigin origin,
                               const Programs& programs) {
  bool known = !selector.process;
  programs.for_each([&](const std::shared_ptr<Program>& program) {
    known = known || (!program->ended() && selector.covers(program->id().process, {}));
  });
  if (!known) return not_found("no program of that process id has offered its memory to this agent");
  Result<> added = rules_.add(selector, patterns, origin);
  if (added) changed_ = true;
  return added;
}

Result<> TracepointSwitch::replace_fleets(const std::vector<TracepointRule>& rules) {
  Result<> replaced = rules_.replace_fleets(rules);
  if (replaced) changed_ = true;
  return replaced;
}

bool TracepointSwitch::welcome(ConnectionId connection, Program& program) {
  told_.erase(connection);
  if (!rules_.has_any()) return false;
  changed_ = true;
  return !rules_.patterns_of(program.id().process, program.service()).empty();
}

void TracepointSwitch::forget(ConnectionId connection) {
  told_.erase(connection);
}

void TracepointSwitch::tick(uint64_t now_nano, const Programs& programs, Listener& listener) {
  // Who was told something, and could not be told that it is void, is told later.
  bool may_differ = rules_.has_any() || !told_.empty();
  if (!changed_ && (!may_differ || now_nano < next_look_nano_)) return;
  changed_ = false;
  next_look_nano_ = now_nano + kLookNano;
  programs.for_each([&](const std::shared_ptr<Program>& program) { look_at(*program, listener); });
}

void TracepointSwitch::look_at(Program& program, Listener& listener) {
  if (program.ended()) return;
  std::string patterns = rules_.patterns_of(program.id().process, program.service());
  for (ConnectionId connection : program.connections()) tell(connection, patterns, listener);
}

void TracepointSwitch::tell(ConnectionId connection, const std::string& patterns, Listener& listener) {
  auto told = told_.find(connection);
  if (patterns == (told == told_.end() ? std::string() : told->second)) return;
  if (listener.say(connection, message_of(patterns)) != Listener::Said::kYes) return;  // next time, if it is there
  if (patterns.empty()) {
    told_.erase(connection);
  } else {
    told_[connection] = patterns;
  }
}

}  // namespace fathom::agent
