#include "node-agent/triggers/watched_programs.h"

#include "base/metrics.h"

namespace fathom::agent {

namespace {

bool same(const WatchedProgram& a, const WatchedProgram& b) {
  return a.process == b.process && a.clock == b.clock && a.service == b.service &&
         a.service_namespace == b.service_namespace && a.open == b.open && a.detail == b.detail && a.ended == b.ended &&
         a.redaction == b.redaction;
}

Counter& no_open_area() {
  static Counter& counter = fathom::counter("fathom_agent_open_spans_unmapped_total",
                                            "Times that what a program has open could not be mapped.");
  return counter;
}

std::shared_ptr<const OpenArea> map_open(const PoolFile& file) {
  Result<std::shared_ptr<const OpenArea>> open = OpenArea::map(file);
  if (open) return *std::move(open);
  if (open.error().code != ErrorCode::kNotFound) no_open_area().add();
  return nullptr;
}

}  // namespace

WatchedPrograms::Entry& WatchedPrograms::entry_of(const Key& key) {
  Entry& entry = programs_[key];
  entry.seen = round_;
  if (!entry.facts) {
    entry.facts = std::make_shared<WatchedProgram>(WatchedProgram{.serial = ++last_serial_, .uid = key.first});
    serials_[last_serial_] = key;
  }
  return entry;
}

void WatchedPrograms::change(Entry& entry, WatchedProgram facts) {
  if (same(facts, *entry.facts)) return;
  entry.facts = std::make_shared<const WatchedProgram>(std::move(facts));
  for (ProgramListener* listener : listeners_) listener->changed(entry.facts);
}

void WatchedPrograms::taken(const std::shared_ptr<Program>& program) {
  look_at(*program);
}

void WatchedPrograms::look_at(Program& program) {
  const PoolFile& file = program.reader().file();
  Entry& entry = entry_of({program.id().uid, file.shape().process_id});
  if (entry.span_pool == PoolKey{}) entry.span_pool = program.id().key;
  if (entry.span_pool != program.id().key || !program.reader().is_ours()) return;
  program.watch_serial = entry.facts->serial;
  WatchedProgram facts = *entry.facts;
  bool ends = program.ended() && !facts.ended;
  std::shared_ptr<const OpenArea> open = facts.open;
  if (!open && (ends || !program.ended())) open = map_open(file);
  facts.process = program.id().process;
  facts.clock = file.shape().clock;
  facts.service = program.service();
  facts.service_namespace = program.service_namespace();
  facts.redaction = program.redaction();
  facts.ended = program.ended();
  facts.open = facts.ended ? nullptr : open;
  change(entry, std::move(facts));
  if (!ends || !open) return;
  tell_of_end(*entry.facts, open);
  look_for_crash(entry, program, open);
}

void WatchedPrograms::tell_of_end(WatchedProgram facts, std::shared_ptr<const OpenArea> open) {
  facts.open = std::move(open);
  const auto ended = std::make_shared<const WatchedProgram>(std::move(facts));
  for (ProgramListener* listener : listeners_) listener->ended(ended);
}

void WatchedPrograms::look_for_crash(const Entry& entry, const Program& program,
                                     const std::shared_ptr<const OpenArea>& open) {
  if (!program.died() || open->ended()) return;
  const std::vector<ThreadSpan> spans = open->all_open();
  for (ProgramListener* listener : listeners_) listener->crashed(entry.facts, spans);
}

// Its program says what it is, where there is one; of one whose span pool is gone already, what is known stays.
void WatchedPrograms::look_at(const std::shared_ptr<DetailPool>& pool) {
  Entry& entry = entry_of({pool->id().uid, pool->file().shape().process_id});
  WatchedProgram facts = *entry.facts;
  if (facts.detail && facts.detail != pool && !facts.detail->ended()) return;
  facts.detail = pool;
  if (entry.span_pool == PoolKey{}) {
    facts.process = pool->id().process;
    facts.clock = pool->file().shape().clock;
    facts.ended = pool->ended();
  }
  change(entry, std::move(facts));
}

void WatchedPrograms::looked_after(const Programs& programs, const DetailPools& details) {
  ++round_;
  // First: a program that crashed is to be found with its events.
  details.for_each([this](const std::shared_ptr<DetailPool>& pool) { look_at(pool); });
  programs.for_each([this](const std::shared_ptr<Program>& program) { look_at(*program); });
  for (auto at = programs_.begin(); at != programs_.end();) {
    auto next = std::next(at);
    if (at->second.seen != round_) {
      for (ProgramListener* listener : listeners_) listener->gone(*at->second.facts);
      serials_.erase(at->second.facts->serial);
      programs_.erase(at);
    }
    at = next;
  }
}

std::shared_ptr<const WatchedProgram> WatchedPrograms::find(uint32_t serial) const {
  auto key = serials_.find(serial);
  return key == serials_.end() ? nullptr : programs_.at(key->second).facts;
}

std::vector<std::shared_ptr<const WatchedProgram>> WatchedPrograms::all() const {
  std::vector<std::shared_ptr<const WatchedProgram>> all;
  all.reserve(programs_.size());
  for (const auto& [key, entry] : programs_) all.push_back(entry.facts);
  return all;
}

}  // namespace fathom::agent
