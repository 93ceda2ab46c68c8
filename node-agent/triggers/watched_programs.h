// WatchedPrograms: what of this host's programs is to be watched, kept current by the agent's looks.
//
// Purpose: joins a program's span pool (what it has open, who it is) with its detail pool (its last events), which come
// and go at their own times, by the process id in both headers; says when something of it changes, and when it died
// without having come to its end. A program is known for as long as one of its pools is. Thread safety: none, belongs
// to the agent's loop. Ownership: of what it maps. Hostility: of two span pools of a user that claim to be of the same
// process the first counts, and the other is not watched.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <vector>

#include "node-agent/agent/detail_pools.h"
#include "node-agent/agent/programs.h"
#include "node-agent/triggers/program_listener.h"

namespace fathom::agent {

class WatchedPrograms {
 public:
  // Outlives this; told in the order in which they were added.
  void add(ProgramListener& listener) { listeners_.push_back(&listener); }

  // As AgentObserver has them.
  void taken(const std::shared_ptr<Program>& program);
  void looked_after(const Programs& programs, const DetailPools& details);

  std::shared_ptr<const WatchedProgram> find(uint32_t serial) const;
  std::vector<std::shared_ptr<const WatchedProgram>> all() const;

 private:
  using Key = std::pair<uid_t, std::array<uint8_t, 16>>;
  struct Entry {
    std::shared_ptr<const WatchedProgram> facts;
    PoolKey span_pool;  // {}: none has come yet
    uint64_t seen = 0;  // the round in which one of its pools was
  };

  Entry& entry_of(const Key& key);
  void look_at(Program& program);
  void look_at(const std::shared_ptr<DetailPool>& pool);
  void change(Entry& entry, WatchedProgram facts);
  void tell_of_end(WatchedProgram facts, std::shared_ptr<const OpenArea> open);
  void look_for_crash(const Entry& entry, const Program& program, const std::shared_ptr<const OpenArea>& open);

  std::vector<ProgramListener*> listeners_;
  std::map<Key, Entry> programs_;
  std::map<uint32_t, Key> serials_;
  uint32_t last_serial_ = 0;
  uint64_t round_ = 1;
};

}  // namespace fathom::agent
