#include "snapshot/analyze/answer_head.h"

#include <algorithm>
#include <cstdio>

#include "base/text.h"
#include "base/time.h"
#include "snapshot/analyze/trace_time.h"
#include "snapshot/decode/code_names.h"
#include "snapshot/format/held_locks.h"

namespace fathom::snapshot {
namespace {

// Threads that contend hold a lock in turns.
constexpr size_t kMostShownLocks = 4;

std::string_view engine_name(Engine engine) {
  if (engine == Engine::kStandIn) return "stand-in (nothing was recorded)";
  return engine == Engine::kStep ? "step" : "intel pt";
}

std::string_view origin_name(Origin origin) {
  switch (origin) {
    case Origin::kRecorded:
      return "recorded";
    case Origin::kPerfData:
      return "perf.data";
    case Origin::kRawStream:
      return "raw stream";
  }
  return "unknown";
}

std::string recorded_text(const Snapshot& snapshot) {
  std::string text;
  if (!snapshot.command.empty()) text += "recorded: " + printable(snapshot.command);
  if (!snapshot.host.empty()) text += (text.empty() ? "recorded on " : " on ") + printable(snapshot.host);
  if (snapshot.taken_unix_nano > 0) {
    text += (text.empty() ? "recorded at " : ", ") + short_instant(static_cast<uint64_t>(snapshot.taken_unix_nano));
  }
  return text.empty() ? text : text + "\n";
}

std::string trigger_text(const Trigger& trigger) {
  if (trigger.reason.empty()) return "";
  std::string text = "trigger: " + printable(trigger.reason);
  if (trigger.tid >= 0) text += ", thread " + std::to_string(trigger.tid);
  if (trigger.trace_id != Id<16>{}) text += ", trace " + trigger.trace_id.hex();
  if (trigger.span_id != Id<8>{}) text += ", span " + trigger.span_id.hex();
  return text + "\n";
}

std::string locks_text(const Snapshot& snapshot) {
  std::string text;
  const std::vector<HeldLock> locks = held_locks(snapshot);
  const size_t shown = lines_shown(locks.size(), kMostShownLocks);
  for (size_t i = 0; i < shown; ++i) {
    text += "lock: " + printable(held_lock_text(locks[i])) + "\n";
  }
  if (locks.size() == shown) return text;
  return text + "lock: and " + group_digits(locks.size() - shown) + " more; --format json has all\n";
}

void chain_json(net::JsonWriter& json, const HeldLock& lock) {
  const HolderChain& chain = lock.chain;
  json.member("blocking_thread", lock.blocking_thread());
  if (!chain.links.empty()) {
    json.key("chain").begin_array();
    for (const HolderLink& link : chain.links) {
      json.begin_object().member("holder", link.holder).member("lock", std::string_view(link.lock));
      json.member("address", std::string_view(hex_address(link.address))).end_object();
    }
    json.end_array();
  }
  if (!chain.system_call.empty()) json.member("system_call", std::string_view(chain.system_call));
  if (chain.is_deadlock) json.member("deadlock", true);
  if (chain.is_cut) json.member("chain_cut", true);
}

void locks_json(net::JsonWriter& json, const Snapshot& snapshot) {
  const std::vector<HeldLock> locks = held_locks(snapshot);
  if (locks.empty()) return;
  json.key("held_locks").begin_array();
  for (const HeldLock& lock : locks) {
    json.begin_object().member("holder", lock.holder).member("lock", std::string_view(lock.lock));
    json.member("address", std::string_view(hex_address(lock.address))).key("waiters").begin_array();
    for (int32_t tid : lock.waiters) json.number(tid);
    json.end_array();
    chain_json(json, lock);
    json.end_object();
  }
  json.end_array();
}

std::string clock_text(const Snapshot& snapshot) {
  const uint64_t hz = TraceTime(snapshot).nominal_hz();
  if (hz == 0) return "";
  char text[96];
  std::snprintf(text, sizeof text, "time: nominal, the counter is taken to run at %.3f GHz\n",
                static_cast<double>(hz) / 1e9);
  return text;
}

std::string losses_text(const std::vector<Loss>& losses) {
  std::string text;
  for (const Loss& loss : losses) {
    if (loss.count == 0 || !loss.is_loss()) continue;
    text += (text.empty() ? "lost: " : ", ") + printable(loss.name) + " (" + group_digits(loss.count) + ")";
  }
  return text.empty() ? text : text + "\n";
}

// "overflow 2, missing image 1"
std::string reasons_text(const DecodeSummary& summary) {
  std::string text;
  for (const auto& [reason, gaps] : summary.gaps) {
    if (!text.empty()) text += ", ";
    text += std::string(gap_reason_name(reason)) + " " + group_digits(gaps.count);
  }
  return text;
}

std::string total_text(const DecodeSummary& summary) {
  if (summary.gap_total == 0) return "gaps: none";
  return "gaps: " + group_digits(summary.gap_total) + " (" + reasons_text(summary) + ")";
}

std::string cause_text(GapReason reason, const GapCount& gaps) {
  std::string text = "  " + std::string(gap_reason_name(reason));
  if (gaps.first_ip != 0) text += ", first at " + hex_address(gaps.first_ip);
  return text + ": " + printable(gaps.first_cause) + "\n";
}

}  // namespace

std::string engine_text(const Snapshot& snapshot) {
  const std::string slower = slowdown_text(snapshot.slowdown);
  return "engine: " + std::string(engine_name(snapshot.engine)) + (slower.empty() ? "" : ", " + slower);
}

std::string head_text(const Snapshot& snapshot) {
  return engine_text(snapshot) + "\n" + recorded_text(snapshot) + trigger_text(snapshot.trigger) +
         locks_text(snapshot) + losses_text(snapshot.losses) + clock_text(snapshot);
}

std::string gaps_text(const DecodeSummary& summary) {
  std::string text = total_text(summary) + "\n";
  for (const auto& [reason, gaps] : summary.gaps) {
    if (!gaps.first_cause.empty()) text += cause_text(reason, gaps);
  }
  return text;
}

std::string caption_text(const Snapshot& snapshot, const DecodeSummary& summary) {
  return engine_text(snapshot) + "; " + group_digits(summary.instructions) +
         (summary.instructions == 1 ? " instruction; " : " instructions; ") + total_text(summary) +
         (TraceTime(snapshot).nominal_hz() != 0 ? "; time is nominal" : "");
}

void head_json(net::JsonWriter& json, const Snapshot& snapshot) {
  json.member("engine", engine_name(snapshot.engine)).key("slowdown");
  snapshot.slowdown > 0 ? json.real(snapshot.slowdown) : json.null();
  json.member("origin", origin_name(snapshot.origin));
  json.member("host", std::string_view(snapshot.host)).member("command", std::string_view(snapshot.command));
  json.member("taken_unix_nano", snapshot.taken_unix_nano);
  if (!snapshot.trigger.reason.empty()) {
    json.key("trigger").begin_object().member("reason", std::string_view(snapshot.trigger.reason));
    json.member("tid", snapshot.trigger.tid).member("trace_id", std::string_view(snapshot.trigger.trace_id.hex()));
    json.member("span_id", std::string_view(snapshot.trigger.span_id.hex())).end_object();
  }
  locks_json(json, snapshot);
  if (const uint64_t hz = TraceTime(snapshot).nominal_hz(); hz != 0) json.member("nominal_tsc_hz", hz);
  json.key("losses").begin_object();
  for (const Loss& loss : snapshot.losses) {
    if (loss.is_loss()) json.member(loss.name, loss.count);
  }
  json.end_object();
}

void gaps_json(net::JsonWriter& json, const DecodeSummary& summary) {
  json.member("instructions", summary.instructions);
  json.key("gaps").begin_object().member("total", summary.gap_total).key("reasons").begin_array();
  for (const auto& [reason, gaps] : summary.gaps) {
    json.begin_object().member("reason", gap_reason_name(reason)).member("count", gaps.count);
    if (gaps.first_ip != 0) json.member("first_ip", std::string_view(hex_address(gaps.first_ip)));
    json.member("cause", std::string_view(gaps.first_cause)).end_object();
  }
  json.end_array().end_object();
}

}  // namespace fathom::snapshot
