#include "client/detail/tracepoints.h"

#include <sched.h>

#include "client/detail/patterns.h"
#include "client/detail/recorder.h"
#include "client/process.h"
#include "client/setup.h"
#include "client/signal_context.h"

namespace fathom::client::detail {
namespace {

template <typename Word>
std::atomic_ref<Word> shared(Word& word) {
  return std::atomic_ref<Word>(word);
}

// Set once; who came too late to set it may still be trying while it is read.
uint16_t known_of(fathom_tracepoint& point) {
  return shared(point.known).load(std::memory_order_relaxed);
}

// ---- which are on --------------------------------------------------------------------------------------------------

constinit std::atomic<uint32_t> lock{0};
constinit std::atomic<fathom_module*> modules{nullptr};
constinit std::atomic<uint32_t> tracepoints{0};

class Locked {
 public:
  Locked() {
    while (lock.exchange(1, std::memory_order_acquire) != 0) sched_yield();
  }
  ~Locked() { lock.store(0, std::memory_order_release); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  SignalsBlocked blocked_;
};

// ---- the table -----------------------------------------------------------------------------------------------------

// Kept here, because the child of a fork gets a new pool with the same tracepoints.
alignas(8) constinit char table[pool::kTableBytes];
constinit std::atomic<uint32_t> table_used{0};

// Where each kind is described: its entry's place in words of 8 bytes, plus one.
constinit uint16_t places[pool::kMostTracepoints] = {};
static_assert(pool::kTableBytes / 8 <= 65535);

pool::TracepointEntry& entry_at(char* of_table, uint32_t at) {
  return *reinterpret_cast<pool::TracepointEntry*>(of_table + at);
}

struct Sizes {
  uint32_t name;
  uint32_t file;
  uint32_t fields;
  uint32_t bytes;
};

// The end of a path says more than its begin.
std::string_view short_file(const char* file) {
  constexpr size_t kMost = 200;
  const std::string_view whole = file;
  return whole.size() <= kMost ? whole : part(whole, whole.size() - kMost);
}
std::string_view short_key(const char* key) {
  return part(key, 0, 255);
}

Sizes sizes_of(fathom_tracepoint& point, const char* const* keys) {
  Sizes sizes = {static_cast<uint32_t>(part(point.name, 0, 255).size()),
                 static_cast<uint32_t>(short_file(point.file).size()), 0, 0};
  uint32_t bytes = sizeof(pool::TracepointEntry) + sizes.name + sizes.file;
  for (; keys[sizes.fields] != nullptr; sizes.fields++) {
    bytes += 2 + static_cast<uint32_t>(short_key(keys[sizes.fields]).size());
  }
  sizes.bytes = (bytes + 7) / 8 * 8;
  return sizes;
}

char* put_text(char* to, std::string_view text) {
  std::memcpy(to, text.data(), text.size());
  return to + text.size();
}

void fill_entry(char* to, fathom_tracepoint& point, const char* const* keys, const uint8_t* types, const Sizes& sizes) {
  auto& entry = *reinterpret_cast<pool::TracepointEntry*>(to);
  entry.kind = static_cast<uint16_t>(pool::kind_of(known_of(point)));
  entry.line = point.line < 65536 ? static_cast<uint16_t>(point.line) : uint16_t{0};
  entry.name_bytes = static_cast<uint16_t>(sizes.name);
  entry.file_bytes = static_cast<uint16_t>(sizes.file);
  entry.fields = static_cast<uint16_t>(sizes.fields);
  char* at = put_text(to + sizeof entry, part(point.name, 0, sizes.name));
  at = put_text(at, short_file(point.file));
  for (uint32_t i = 0; i < sizes.fields; i++) {
    const std::string_view key = short_key(keys[i]);
    *at++ = static_cast<char>(types[i]);
    *at++ = static_cast<char>(key.size());
    at = put_text(at, key);
  }
}

void copy_entry(char* to, uint32_t at) {
  const auto& from = *reinterpret_cast<const pool::TracepointEntry*>(table + at);
  const uint32_t bytes = from.bytes.load(std::memory_order_seq_cst);
  if (bytes == 0) return;
  pool::TracepointEntry& copy = entry_at(to, at);
  std::memcpy(to + at + 4, table + at + 4, bytes - 4);
  // What is switched now is seen here, or the pool there.
  copy.on.store(entry_at(table, at).on.load(std::memory_order_seq_cst), std::memory_order_relaxed);
  reinterpret_cast<pool::TracepointEntry*>(to + at)->bytes.store(bytes, std::memory_order_release);
}

// The pool may be made meanwhile: either its maker sees the entry, or the pool is seen here, or both.
bool describe(fathom_tracepoint& point, const char* const* keys, const uint8_t* types) {
  const Sizes sizes = sizes_of(point, keys);
  uint32_t at = table_used.load(std::memory_order_relaxed);
  do {
    if (at + sizes.bytes > sizeof table) return false;
  } while (!table_used.compare_exchange_weak(at, at + sizes.bytes, std::memory_order_relaxed));
  fill_entry(table + at, point, keys, types, sizes);
  places[pool::kind_of(known_of(point)) - pool::kFirstTracepoint] = static_cast<uint16_t>(at / 8 + 1);
  reinterpret_cast<pool::TracepointEntry*>(table + at)->bytes.store(sizes.bytes, std::memory_order_seq_cst);
  const View view = current_view();
  if (view.header == nullptr) return true;
  copy_entry(reinterpret_cast<char*>(view.header) + view.header->table_offset, at);
  return true;
}

// As the table's sizes, with which it may be copied to a pool that is just being made.
void note_switch(uint32_t at, bool on) {
  entry_at(table, at).on.store(on ? 1 : 0, std::memory_order_seq_cst);
  const View view = current_view();
  if (view.header == nullptr) return;
  entry_at(reinterpret_cast<char*>(view.header) + view.header->table_offset, at)
      .on.store(on ? 1 : 0, std::memory_order_relaxed);
}

void set_switch(fathom_tracepoint& point, bool on) {
  shared(point.head).store(on ? known_of(point) : uint16_t{0}, std::memory_order_seq_cst);
  const uint32_t place = places[pool::kind_of(known_of(point)) - pool::kFirstTracepoint];
  if (place != 0) note_switch((place - 1) * 8, on);
}

void decide(fathom_tracepoint& point) {
  uint32_t version = patterns_version();
  for (;;) {
    set_switch(point, is_on(version, point.name, point.on_by_default != 0));
    const uint32_t now = patterns_version();
    if (now == version) return;
    version = now;
  }
}

// ---- modules -------------------------------------------------------------------------------------------------------

template <typename Node>
void push(std::atomic_ref<Node*> head, Node& node) {
  node.next = head.load(std::memory_order_relaxed);
  while (!head.compare_exchange_weak(node.next, &node, std::memory_order_seq_cst)) {
  }
}

void remember_module(fathom_module& module) {
  uint64_t none = 0;
  if (!shared(module.state).compare_exchange_strong(none, 1, std::memory_order_acq_rel)) return;
  module.next = modules.load(std::memory_order_relaxed);
  while (!modules.compare_exchange_weak(module.next, &module, std::memory_order_seq_cst)) {
  }
}

void give_up(fathom_tracepoint& point) {
  shared(point.head).store(uint16_t{0}, std::memory_order_relaxed);
  count_loss(pool::kLostTracepoints);
}

constexpr uint16_t kNoRoom = 0xffff;

// True for the one that is to describe it; the others, and signal handlers that interrupt that one, may record at once.
bool number(fathom_tracepoint& point) {
  uint16_t none = 0;
  if (shared(point.known).load(std::memory_order_acquire) != none) return false;
  const uint32_t kind = tracepoints.fetch_add(1, std::memory_order_relaxed);
  const bool room = kind < pool::kMostTracepoints;
  const uint16_t head = room ? static_cast<uint16_t>((pool::kFirstTracepoint + kind) << 4) : kNoRoom;
  return shared(point.known).compare_exchange_strong(none, head, std::memory_order_acq_rel);
}

uint32_t head_now(fathom_tracepoint& point) {
  const uint16_t head = shared(point.head).load(std::memory_order_acquire);
  if (head != FATHOM_HEAD_UNKNOWN) return head;
  const uint16_t known = known_of(point);
  return known != kNoRoom && is_on(patterns_version(), point.name, point.on_by_default != 0) ? known : 0;
}

}  // namespace

uint32_t meet(fathom_tracepoint& point, fathom_module& module, const char* const* keys, const uint8_t* types) {
  const ErrnoKept errno_kept;
  set_up();
  if (settings.detail_mib == 0) {
    shared(point.head).store(uint16_t{0}, std::memory_order_relaxed);
  } else if (number(point)) {
    if (known_of(point) == kNoRoom || !describe(point, keys, types)) {
      give_up(point);
    } else {
      push(shared(module.first), point);
      remember_module(module);
      decide(point);
    }
  }
  return head_now(point);
}

void leave(fathom_module& module) {
  const Locked locked;
  fathom_module* before = modules.load(std::memory_order_acquire);
  if (before == &module && modules.compare_exchange_strong(before, module.next, std::memory_order_acq_rel)) return;
  for (before = modules.load(std::memory_order_acquire); before != nullptr; before = before->next) {
    if (before->next == &module) before->next = module.next;
  }
}

namespace {

void decide_all() {
  for (fathom_module* module = modules.load(std::memory_order_seq_cst); module != nullptr; module = module->next) {
    for (fathom_tracepoint* point = shared(module->first).load(std::memory_order_seq_cst); point != nullptr;
         point = point->next) {
      decide(*point);
    }
  }
}

}  // namespace

bool switch_tracepoints(std::string_view list) {
  const Locked locked;
  if (!set_patterns(Says::kProgram, list)) return false;
  decide_all();
  return true;
}

void switch_from_outside(std::string_view list) {
  const Locked locked;
  if (set_patterns(Says::kAgent, list)) decide_all();
}

void copy_table(char* to) {
  const uint32_t end = table_used.load(std::memory_order_seq_cst);
  for (uint32_t at = 0; at + sizeof(pool::TracepointEntry) <= end;) {
    const uint32_t bytes =
        reinterpret_cast<const pool::TracepointEntry*>(table + at)->bytes.load(std::memory_order_seq_cst);
    if (bytes == 0) break;
    copy_entry(to, at);
    at += bytes;
  }
}

void forget_parents_locks() {
  lock.store(0, std::memory_order_relaxed);
}

}  // namespace fathom::client::detail
