// AgentRedaction: sends the server's redaction rules to agents, and checks that captures were redacted by them.
//
// Purpose: an agent redacts captures before it encodes them, because the server stores their content as it is. The
// agent returns the fingerprint of the rules with each capture; the session rejects other captures. Agents get the
// rules after their Welcome, and again when they change. Thread safety: all of it. Ownership: wires are held weakly.
// Errors: none; an agent that does not read is noticed by its session's next answer. Hostility: rules and key are sent
// only to agents that apply them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/log_pace.h"
#include "base/time.h"
#include "collector/agents/session_wire.h"
#include "ingest/control.h"
#include "redact/redactor.h"

namespace fathom::collector {

class AgentRedaction {
 public:
  static void list_metrics();  // at 0, before anything happens

  // Rules for captures that are encoded from now on; sent to all agents if they differ from the current rules.
  // `redactor`: the same rules, for service() and operation(); null: no rules.
  void set(ingest::RedactionRules rules, std::shared_ptr<const Redactor> redactor = nullptr);
  // An agent that applies rules; `stream` is the registry's number. Sends the current rules, also if there are none:
  // the agent may have those of an earlier stream.
  void attach(uint64_t stream, std::weak_ptr<SessionWire> wire);
  void detach(uint64_t stream);
  // Names that an agent sends beside spans and captures, which an older agent does not redact.
  std::string service(std::string name);
  std::string operation(std::string name);
  // Why a capture with this fingerprint is permanently rejected; empty: it is accepted. Counts and logs rejections.
  std::string why_rejected(std::string_view fingerprint, const ingest::NodeId& node);

 private:
  std::shared_ptr<const Redactor> redactor();

  std::mutex mutex_;  // held while rules are sent, so that no older rules follow newer ones
  ingest::RedactionRules rules_;
  std::shared_ptr<const Redactor> redactor_;
  std::map<uint64_t, std::weak_ptr<SessionWire>> wires_;
  LogPace pace_{kNanosPerMinute};
};

}  // namespace fathom::collector
