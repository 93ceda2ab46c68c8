#include "apps/store/report.h"

#include <algorithm>

#include "base/text.h"
#include "base/time.h"
#include "net/json_writer.h"

namespace fathom {

namespace {

using store::Affected;
using store::Damage;
using store::Findings;
using store::Loss;
using store::PartCount;
using store::TimeRange;

std::string between(const TimeRange& range) {
  if (range.from_unix_nano == 0 && range.to_unix_nano == UINT64_MAX) return "at an unknown time";
  if (range.from_unix_nano == 0) return "before " + format_instant(range.to_unix_nano);
  if (range.to_unix_nano == UINT64_MAX) return "after " + format_instant(range.from_unix_nano);
  return "between " + format_instant(range.from_unix_nano) + " and " + format_instant(range.to_unix_nano);
}

std::string affected_text(const Affected& affected) {
  std::string text;
  if (affected.spans > 0) {
    text = "at most " + plural(affected.spans, "span") + " of " + plural(affected.traces, "trace");
  }
  if (affected.received) text += (text.empty() ? "" : ", ") + ("received " + between(*affected.received));
  if (affected.started) text += (text.empty() ? "" : ", ") + ("started " + between(*affected.started));
  return text;
}

std::string damage_text(const Damage& damage) {
  std::string text =
      "damaged: " + damage.part + ": " + printable(damage.place) + "\n  " + printable(damage.reason) + "\n";
  const std::string affects = affected_text(damage.affected);
  return affects.empty() ? text : text + "  affects " + affects + "\n";
}

std::string loss_text(const Loss& loss) {
  const std::string batches =
      loss.most_batches ? "at most " + plural(*loss.most_batches, "batch") : "an unknown number of batches";
  return "known loss: " + batches + ", received " +
         between({loss.first_received_unix_nano, loss.last_received_unix_nano}) + ", found " +
         format_instant(loss.found_unix_nano) + "\n";
}

std::string count_text(StoreVerb verb, const PartCount& count) {
  const char* checked = verb == StoreVerb::kVerify ? " checked, " : " salvaged, ";
  const char* damaged = verb == StoreVerb::kVerify ? " damaged\n" : " lost\n";
  return pad_to_width(count.part, 18, Align::kLeft) + pad_to_width(std::to_string(count.checked), 12, Align::kRight) +
         checked + std::to_string(count.damaged) + damaged;
}

std::string verdict(StoreVerb verb, const Findings& findings, const std::string& directory, const std::string& to) {
  if (verb == StoreVerb::kRepair) {
    const std::string done = "repaired " + printable(directory) + " into " + printable(to);
    return done + (findings.intact() ? ": nothing was lost\n"
                                     : ": " + plural(findings.damage_count(), "loss") + "; the new server reports " +
                                           (findings.damage_count() == 1 ? "it" : "them") + "\n");
  }
  if (findings.intact()) return printable(directory) + " is intact\n";
  const std::string repair = "'fathom store repair " + printable(directory) + " NEW_DIR' salvages what is intact";
  return printable(directory) + " is damaged in " + plural(findings.damage_count(), "place") + "; " +
         (findings.fix().empty() ? repair : printable(findings.fix())) + "\n";
}

void write_range(net::JsonWriter& json, const char* name, const std::optional<TimeRange>& range) {
  if (!range) return;
  json.key(name).begin_object();
  json.member("from_unix_nano", range->from_unix_nano).member("to_unix_nano", range->to_unix_nano);
  json.end_object();
}

void write_damage(net::JsonWriter& json, const Damage& damage) {
  json.begin_object().member("part", damage.part).member("place", damage.place).member("reason", damage.reason);
  write_range(json, "received", damage.affected.received);
  write_range(json, "started", damage.affected.started);
  json.member("spans_at_most", damage.affected.spans).member("traces_at_most", damage.affected.traces).end_object();
}

void write_loss(net::JsonWriter& json, const Loss& loss) {
  json.begin_object()
      .member("first_received_unix_nano", loss.first_received_unix_nano)
      .member("last_received_unix_nano", loss.last_received_unix_nano)
      .member("found_unix_nano", loss.found_unix_nano);
  json.key("most_batches");
  loss.most_batches ? json.number(*loss.most_batches) : json.null();
  json.end_object();
}

}  // namespace

std::string store_report_text(StoreVerb verb, const Findings& findings, const std::string& directory,
                              const std::string& to) {
  std::string text;
  for (const Damage& damage : findings.damages()) text += damage_text(damage);
  if (findings.damage_count() > findings.damages().size()) {
    text += "and " + group_digits(findings.damage_count() - findings.damages().size()) + " more\n";
  }
  for (const Loss& loss : findings.known_losses()) text += loss_text(loss);
  for (const std::string& note : findings.notes()) text += "note: " + printable(note) + "\n";
  for (const PartCount& count : findings.parts()) text += count_text(verb, count);
  return text + verdict(verb, findings, directory, to);
}

std::string store_report_json(StoreVerb verb, const Findings& findings, const std::string& directory,
                              const std::string& to) {
  std::string text;
  net::JsonWriter json(text);
  json.begin_object().member("directory", directory);
  if (verb == StoreVerb::kRepair) json.member("new_directory", to);
  json.member("intact", findings.intact()).member("damage_count", findings.damage_count());
  if (!findings.fix().empty()) json.member("fix", findings.fix());
  json.key("parts").begin_array();
  for (const PartCount& count : findings.parts()) {
    json.begin_object().member("part", count.part);
    json.member(verb == StoreVerb::kVerify ? "checked" : "salvaged", count.checked);
    json.member(verb == StoreVerb::kVerify ? "damaged" : "lost", count.damaged).end_object();
  }
  json.end_array().key("damages").begin_array();
  for (const Damage& damage : findings.damages()) write_damage(json, damage);
  json.end_array().key("known_losses").begin_array();
  for (const Loss& loss : findings.known_losses()) write_loss(json, loss);
  json.end_array().key("notes").begin_array();
  for (const std::string& note : findings.notes()) json.string(note);
  json.end_array().end_object();
  return text + "\n";
}

}  // namespace fathom
