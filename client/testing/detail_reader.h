// Reads this process's detail pool as an agent would: by its file, believing the layout alone. For tests.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/pool/detail_layout.h"

namespace fathom::client::testing {

struct ReadField {
  std::string key;
  std::string value;  // as text
  uint8_t type = 0;   // a pool::FieldType
};

struct ReadEvent {
  std::string name;
  uint64_t ticks = 0;
  uint32_t tid = 0;
  std::string span_id;             // of the first span that it belongs to, in hexadecimal; empty: none
  std::vector<std::string> spans;  // of all of them
  std::vector<ReadField> fields;
  uint32_t chunk = 0;
  uint32_t epoch = 0;

  std::string operator[](const std::string& key) const;
  uint64_t number(const std::string& key) const { return std::stoull((*this)[key]); }
};

struct ReadChunk {
  uint32_t number = 0;
  uint32_t epoch = 0;
  pool::DetailState state = pool::kDetailFree;
  uint32_t used = 0;  // bytes of records in it
  uint32_t holes = 0;
};

class DetailReader {
 public:
  // Of this process, which has a pool; otherwise nothing is found.
  static DetailReader of_this_process();
  // Of a program that handed it over, which may be gone.
  static DetailReader of_file(int fd);

  // All events that are in the pool now, chunk by chunk; of the tracepoint `name` alone, if one is named.
  std::vector<ReadEvent> events(const std::string& name = "");
  std::vector<ReadChunk> chunks();
  pool::DetailHeader& header() { return *header_; }
  pool::DetailEntry& entry(uint32_t number) { return entries_[number]; }
  uint32_t count() const { return header_->large_chunks + header_->small_chunks; }
  uint32_t chunks_in_state(pool::DetailState state);
  // Which tracepoints are on, as the table says it now.
  std::map<std::string, bool> switches();
  // What no writer may leave: records of no known kind, payloads that do not fit their description.
  const std::vector<std::string>& faults() const { return faults_; }

 private:
  struct Tracepoint {
    std::string name;
    bool on = false;
    std::vector<std::pair<uint8_t, std::string>> fields;
  };
  void read_table();
  void read_chunk(uint32_t number, std::vector<ReadEvent>* events, ReadChunk& chunk);
  void read_event(std::string_view record, uint32_t kind, const ReadEvent& context, std::vector<ReadEvent>& events);
  std::string bytes(uint64_t offset, size_t size) const;

  std::shared_ptr<void> mapping_;  // of_file()'s
  int fd_ = -1;
  pool::DetailHeader* header_ = nullptr;
  pool::DetailEntry* entries_ = nullptr;
  std::map<uint32_t, Tracepoint> table_;
  std::string wanted_;  // a tracepoint's name; empty: all
  std::vector<std::string> faults_;
};

}  // namespace fathom::client::testing
