// Tracepoints for C and C++: FATHOM_EVENT("cache.miss", "key", key, "bytes", n).
//
// Purpose: an event costs about what reading the clock costs, and the last ones of every thread survive the program's
// death in memory that fathom's agent reads. Each event belongs to the thread's current spans (fathom/trace_c.h).
// Values: integers, enums, bool, float, double, texts (const char*, fathom_text), bytes (fathom_bytes); at most 8 pairs
// of a key and a value. Keys and the name are literals. Texts are cut where a record of 2 KiB has no more room.
// Thread safety: from any thread and any signal handler, also where one interrupts another event. No lock, no wait, no
// allocation, and no system call but for a few when a thread takes new memory. errno is left alone.
// Errors: none reach the program; what is lost is counted.
// On or off: FATHOM_EVENT is off and FATHOM_EVENT_ON is on until somebody says otherwise: FATHOM_TRACEPOINTS in the
// program's environment, "cache.*,-cache.hit": patterns with * and ?, a leading - switches off, the last that fits
// counts. Where an event is off, its values are not computed.
#ifndef FATHOM_EVENT_C_H
#define FATHOM_EVENT_C_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "fathom/event_pairs.h"
#include "fathom/trace_c.h"

// NOLINTBEGIN(modernize-use-nullptr,performance-no-int-to-ptr,misc-definitions-in-headers): C, and one weak variable.
#ifdef __cplusplus
extern "C" {
#endif

typedef struct fathom_bytes {
  const void* data;
  size_t size;
} fathom_bytes;

// Events that this process lost: no memory for them, or more tracepoints than there is room for.
FATHOM_EXPORT uint64_t fathom_lost_events(void);

// ---- what the macros are made of: not for use by hand, and fixed for good by the programs that contain it
// ------------

typedef struct fathom_tracepoint {
  uint16_t head;   // 0: off; FATHOM_HEAD_UNKNOWN: to be asked; else the kind, shifted
  uint16_t known;  // what the head is while it is on
  uint32_t line;
  const char* name;
  const char* file;
  struct fathom_tracepoint* next;  // of its module
  uint32_t on_by_default;
  uint32_t unused;
} fathom_tracepoint;

// The executable, or one shared object: its tracepoints go when it is unloaded.
typedef struct fathom_module {
  struct fathom_tracepoint* first;
  struct fathom_module* next;
  uint64_t state;
} fathom_module;

struct fathom_limit {
  uint64_t last;  // the last address at which a short record may begin
  uint32_t epoch;
  uint32_t unused;
};

// The thread's own. A reservation is one addition to `cursor`; what is complete is added to `committed`, so that both
// are equal when no write is under way.
struct fathom_writer {
  uint64_t cursor;
  const struct fathom_limit* limit;
  uint64_t committed;
};

struct fathom_value {
  uint32_t type;
  uint32_t bytes;  // of the payload; of texts without their size
  uint64_t word;
  const void* data;
};

enum {
  FATHOM_HEAD_UNKNOWN = 0xfff0,
  FATHOM_SHORT_PAYLOAD = 116,
  FATHOM_TEXT = 12,
  FATHOM_BYTES = 13,
};

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define FATHOM_EVENT_FAST 1
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#undef FATHOM_EVENT_FAST
#endif
#endif
#endif

FATHOM_EXPORT extern __thread struct fathom_writer fathom_writer_v1 __attribute__((tls_model("initial-exec")));

struct fathom_place {
  char* at;  // null: lost, and counted
  uint32_t epoch;
};
// What a reservation that missed is to do, `at` as it was reserved; a place has its ticks and its head.
FATHOM_EXPORT struct fathom_place fathom_place_v1(uint64_t at, uint32_t bytes, uint32_t head);
// A whole reservation, where it is not made in place.
FATHOM_EXPORT struct fathom_place fathom_reserve_v1(uint32_t bytes, uint32_t head);
FATHOM_EXPORT void fathom_commit_v1(uint32_t bytes);
// The first time at a tracepoint: describes it; returns its head, 0 when it is off.
// Keys end with a null, types and values with a zero type.
FATHOM_EXPORT uint32_t fathom_meet_v1(fathom_tracepoint* point, fathom_module* module, const char* const* keys,
                                      const uint8_t* types);
// Payloads beyond FATHOM_SHORT_PAYLOAD.
FATHOM_EXPORT void fathom_long_event_v1(uint32_t head, const struct fathom_value* values);
FATHOM_EXPORT void fathom_leave_module_v1(fathom_module* module);

// One per executable or shared object.
__attribute__((weak, visibility("hidden"))) fathom_module fathom_this_module_v1;

__attribute__((destructor)) static void fathom_leave_this_module(void) {
  fathom_leave_module_v1(&fathom_this_module_v1);
}

#define FATHOM_EVENT_INLINED static inline __attribute__((always_inline))

FATHOM_EVENT_INLINED struct fathom_value fathom_value_number(uint32_t type, uint32_t bytes, uint64_t word) {
  struct fathom_value value = {type, bytes, word, 0};
  return value;
}
FATHOM_EVENT_INLINED struct fathom_value fathom_value_float(float number) {
  uint32_t word;
  memcpy(&word, &number, 4);
  return fathom_value_number(9, 4, word);
}
FATHOM_EVENT_INLINED struct fathom_value fathom_value_double(double number) {
  uint64_t word;
  memcpy(&word, &number, 8);
  return fathom_value_number(10, 8, word);
}
FATHOM_EVENT_INLINED struct fathom_value fathom_value_data(uint32_t type, const void* data, size_t size) {
  struct fathom_value value = {type, data == 0 ? 0 : size > 0xffff ? 0xffff : (uint32_t)size, 0, data};
  return value;
}
FATHOM_EVENT_INLINED struct fathom_value fathom_value_c_text(const char* text) {
  return fathom_value_data(FATHOM_TEXT, text, text == 0 ? 0 : strlen(text));
}
FATHOM_EVENT_INLINED struct fathom_value fathom_value_text(fathom_text text) {
  return fathom_value_data(FATHOM_TEXT, text.data, text.size);
}
FATHOM_EVENT_INLINED struct fathom_value fathom_value_bytes(fathom_bytes bytes) {
  return fathom_value_data(FATHOM_BYTES, bytes.data, bytes.size);
}

// Part by part, because a whole fathom_value would be put together in memory first.
FATHOM_EVENT_INLINED uint32_t fathom_payload_size(uint32_t type, uint32_t bytes) {
  return type >= FATHOM_TEXT ? 2 + bytes : bytes;
}
FATHOM_EVENT_INLINED char* fathom_payload_put(char* to, uint32_t type, uint32_t bytes, uint64_t word,
                                              const void* data) {
  if (type >= FATHOM_TEXT) {
    const uint16_t size = (uint16_t)bytes;
    memcpy(to, &size, 2);
    if (bytes != 0) memcpy(to + 2, data, bytes);
    return to + 2 + bytes;
  }
  memcpy(to, &word, bytes);
  return to + bytes;
}

// Memory for a record; the ticks and the head are in it, the epoch is to be stored last.
struct fathom_open_record {
  char* at;  // null: lost
  uint32_t epoch;
  uint32_t bytes;
};

FATHOM_EVENT_INLINED uint32_t fathom_record_bytes(uint32_t payload) {
  return payload <= 4 ? 16 : 16 + ((payload - 4 + 7) & ~7U);
}

FATHOM_EVENT_INLINED void fathom_begin_record(char* at, uint32_t low, uint32_t high, uint32_t head) {
  // Stored apart: putting them together first would take more instructions than the clock leaves unused.
  *(volatile uint32_t*)at = low;
  *(volatile uint16_t*)(at + 4) = (uint16_t)high;
  *(volatile uint16_t*)(at + 6) = (uint16_t)head;
}

#if defined(FATHOM_EVENT_FAST)

FATHOM_EVENT_INLINED struct fathom_open_record fathom_open_v1(uint32_t kind, uint32_t payload) {
  struct fathom_open_record record = {0, 0, fathom_record_bytes(payload)};
  const uint32_t head = kind | (record.bytes - 16) / 8;
  uint32_t low = 0, high = 0;
  uint64_t at = record.bytes;
#if !defined(FATHOM_EVENT_NO_CLOCK)
  __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
#endif
  // The limit after the reservation: a signal handler that comes between has left one that sends us the slow way.
  __asm__ volatile("xadd %0, %1" : "+r"(at), "+m"(fathom_writer_v1.cursor) : : "memory", "cc");
  const struct fathom_limit* limit = *(const struct fathom_limit* volatile*)&fathom_writer_v1.limit;
  // Within the chunk of this limit, and of no other one: those are farther away. In the child of a fork the kernel has
  // wiped the limit.
  if (__builtin_expect(*(const volatile uint64_t*)&limit->last - at >= 65536, 0)) {
    const struct fathom_place place = fathom_place_v1(at, record.bytes, head);
    record.at = place.at;
    record.epoch = place.epoch;
    return record;
  }
  record.epoch = *(const volatile uint32_t*)&limit->epoch;
  record.at = (char*)(uintptr_t)at;
  fathom_begin_record(record.at, low, high, head);
  return record;
}

FATHOM_EVENT_INLINED void fathom_close_v1(struct fathom_open_record record) {
  __atomic_store_n((uint32_t*)(void*)(record.at + 8), record.epoch, __ATOMIC_RELEASE);
  __asm__ volatile("addq %1, %0" : "+m"(fathom_writer_v1.committed) : "er"((uint64_t)record.bytes) : "memory", "cc");
}

#else

FATHOM_EVENT_INLINED struct fathom_open_record fathom_open_v1(uint32_t kind, uint32_t payload) {
  struct fathom_open_record record = {0, 0, fathom_record_bytes(payload)};
  const struct fathom_place place = fathom_reserve_v1(record.bytes, kind | (record.bytes - 16) / 8);
  record.at = place.at;
  record.epoch = place.epoch;
  return record;
}

FATHOM_EVENT_INLINED void fathom_close_v1(struct fathom_open_record record) {
  __atomic_store_n((uint32_t*)(void*)(record.at + 8), record.epoch, __ATOMIC_RELEASE);
  fathom_commit_v1(record.bytes);
}

#endif

#ifdef __cplusplus
}
#endif

// NOLINTEND(modernize-use-nullptr,performance-no-int-to-ptr,misc-definitions-in-headers)

// In C++ fathom/event.h has this as overloads.
#if !defined(__cplusplus)
FATHOM_EVENT_INLINED struct fathom_value fathom_value_long(long long number, size_t size) {
  return fathom_value_number(size == 8 ? 4 : 3, (uint32_t)size, (uint64_t)number);
}
FATHOM_EVENT_INLINED struct fathom_value fathom_value_ulong(unsigned long long number, size_t size) {
  return fathom_value_number(size == 8 ? 8 : 7, (uint32_t)size, number);
}
FATHOM_EVENT_INLINED struct fathom_value fathom_value_bool(_Bool value) {
  return fathom_value_number(11, 1, value);
}
FATHOM_EVENT_INLINED struct fathom_value fathom_value_i8(signed char n) {
  return fathom_value_number(1, 1, (uint64_t)n);
}
FATHOM_EVENT_INLINED struct fathom_value fathom_value_i16(short n) {
  return fathom_value_number(2, 2, (uint64_t)n);
}
FATHOM_EVENT_INLINED struct fathom_value fathom_value_i32(int n) {
  return fathom_value_number(3, 4, (uint64_t)n);
}
FATHOM_EVENT_INLINED struct fathom_value fathom_value_il(long n) {
  return fathom_value_long(n, sizeof n);
}
FATHOM_EVENT_INLINED struct fathom_value fathom_value_i64(long long n) {
  return fathom_value_long(n, sizeof n);
}
FATHOM_EVENT_INLINED struct fathom_value fathom_value_u8(unsigned char n) {
  return fathom_value_number(5, 1, n);
}
FATHOM_EVENT_INLINED struct fathom_value fathom_value_u16(unsigned short n) {
  return fathom_value_number(6, 2, n);
}
FATHOM_EVENT_INLINED struct fathom_value fathom_value_u32(unsigned n) {
  return fathom_value_number(7, 4, n);
}
FATHOM_EVENT_INLINED struct fathom_value fathom_value_ul(unsigned long n) {
  return fathom_value_ulong(n, sizeof n);
}
FATHOM_EVENT_INLINED struct fathom_value fathom_value_u64(unsigned long long n) {
  return fathom_value_ulong(n, sizeof n);
}
#define FATHOM_VALUE(value)                 \
  _Generic((value),                         \
      _Bool: fathom_value_bool,             \
      char: fathom_value_i8,                \
      signed char: fathom_value_i8,         \
      short: fathom_value_i16,              \
      int: fathom_value_i32,                \
      long: fathom_value_il,                \
      long long: fathom_value_i64,          \
      unsigned char: fathom_value_u8,       \
      unsigned short: fathom_value_u16,     \
      unsigned: fathom_value_u32,           \
      unsigned long: fathom_value_ul,       \
      unsigned long long: fathom_value_u64, \
      float: fathom_value_float,            \
      double: fathom_value_double,          \
      char*: fathom_value_c_text,           \
      const char*: fathom_value_c_text,     \
      fathom_text: fathom_value_text,       \
      fathom_bytes: fathom_value_bytes)(value)
#define FATHOM_TYPE(value)                      \
  _Generic((value),                             \
      _Bool: 11,                                \
      char: 1,                                  \
      signed char: 1,                           \
      short: 2,                                 \
      int: 3,                                   \
      long: sizeof(long) == 8 ? 4 : 3,          \
      long long: 4,                             \
      unsigned char: 5,                         \
      unsigned short: 6,                        \
      unsigned: 7,                              \
      unsigned long: sizeof(long) == 8 ? 8 : 7, \
      unsigned long long: 8,                    \
      float: 9,                                 \
      double: 10,                               \
      char*: FATHOM_TEXT,                       \
      const char*: FATHOM_TEXT,                 \
      fathom_text: FATHOM_TEXT,                 \
      fathom_bytes: FATHOM_BYTES)
#endif

#define FATHOM_EVENT(...) FATHOM_EVENT_AT_(0, __VA_ARGS__)
#define FATHOM_EVENT_ON(...) FATHOM_EVENT_AT_(1, __VA_ARGS__)

#define FATHOM_EVENT_KEY_(n, key, value) key,
#define FATHOM_EVENT_TYPE_(n, key, value) FATHOM_TYPE(value),
#define FATHOM_EVENT_VALUE_(n, key, value)                             \
  const struct fathom_value fathom_value_##n##_ = FATHOM_VALUE(value); \
  const uint32_t fathom_bytes_##n##_ = fathom_value_##n##_.bytes;      \
  const uint64_t fathom_word_##n##_ = fathom_value_##n##_.word;        \
  const void* const fathom_data_##n##_ = fathom_value_##n##_.data;
#define FATHOM_EVENT_SIZE_(n, key, value) +fathom_payload_size(FATHOM_TYPE(value), fathom_bytes_##n##_)
#define FATHOM_EVENT_PUT_(n, key, value) \
  fathom_to_ =                           \
      fathom_payload_put(fathom_to_, FATHOM_TYPE(value), fathom_bytes_##n##_, fathom_word_##n##_, fathom_data_##n##_);
#define FATHOM_EVENT_LIST_(n, key, value) \
  {FATHOM_TYPE(value), fathom_bytes_##n##_, fathom_word_##n##_, fathom_data_##n##_},

#define FATHOM_EVENT_MEET_(...)                                                                 \
  __extension__({                                                                               \
    static const char* const fathom_keys_[] = {FATHOM_EACH_(FATHOM_EVENT_KEY_, __VA_ARGS__) 0}; \
    static const uint8_t fathom_types_[] = {FATHOM_EACH_(FATHOM_EVENT_TYPE_, __VA_ARGS__) 0};   \
    fathom_meet_v1(&fathom_point_, &fathom_this_module_v1, fathom_keys_, fathom_types_);        \
  })

// One comparison where it is off; that it is on is out of the program's usual way.
#define FATHOM_EVENT_AT_(on_by_default, ...)                                                                   \
  do {                                                                                                         \
    static fathom_tracepoint fathom_point_ = {                                                                 \
        FATHOM_HEAD_UNKNOWN, 0, __LINE__, FATHOM_FIRST_(__VA_ARGS__), __FILE__, 0, on_by_default, 0};          \
    uint32_t fathom_head_ = __atomic_load_n(&fathom_point_.head, __ATOMIC_RELAXED);                            \
    if (__builtin_expect(fathom_head_ != 0, 0) && (__builtin_expect(fathom_head_ != FATHOM_HEAD_UNKNOWN, 1) || \
                                                   (fathom_head_ = FATHOM_EVENT_MEET_(__VA_ARGS__)) != 0)) {   \
      FATHOM_EACH_(FATHOM_EVENT_VALUE_, __VA_ARGS__)                                                           \
      const uint32_t fathom_size_ = 0 FATHOM_EACH_(FATHOM_EVENT_SIZE_, __VA_ARGS__);                           \
      if (__builtin_expect(fathom_size_ <= FATHOM_SHORT_PAYLOAD, 1)) {                                         \
        const struct fathom_open_record fathom_record_ = fathom_open_v1(fathom_head_, fathom_size_);           \
        if (__builtin_expect(fathom_record_.at != 0, 1)) {                                                     \
          char* fathom_to_ = fathom_record_.at + 12;                                                           \
          FATHOM_EACH_(FATHOM_EVENT_PUT_, __VA_ARGS__)                                                         \
          (void)fathom_to_;                                                                                    \
          fathom_close_v1(fathom_record_);                                                                     \
        }                                                                                                      \
      } else {                                                                                                 \
        const struct fathom_value fathom_values_[] = {FATHOM_EACH_(FATHOM_EVENT_LIST_, __VA_ARGS__)            \
                                                          fathom_value_number(0, 0, 0)};                       \
        fathom_long_event_v1(fathom_head_, fathom_values_);                                                    \
      }                                                                                                        \
    }                                                                                                          \
  } while (0)

#endif
