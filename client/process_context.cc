#include "client/process_context.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <string_view>

#include "client/process.h"

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

namespace fathom::client {
namespace {

// Room for the first edition of the resource and for the one that may follow.
constexpr size_t kPayloadRoom = size_t{3} * pool::kResourceBytes;
constexpr size_t kMappingBytes = pool::kPageBytes + 2 * kPayloadRoom;

// Protobuf from its end to its begin: a message's size is known when its tag is written.
class BackwardWriter {
 public:
  BackwardWriter(char* buffer, size_t size) : begin_(buffer), at_(buffer + size), end_(buffer + size) {}

  void text(std::string_view bytes) {
    if (bytes.size() > static_cast<size_t>(at_ - begin_)) {
      failed_ = true;
    } else if (!bytes.empty()) {
      at_ -= bytes.size();
      std::memcpy(at_, bytes.data(), bytes.size());
    }
  }
  // Puts the tag of a length-delimited field before what was written since `end`.
  void field(uint32_t number, const char* end) {
    varint(static_cast<uint64_t>(end - at_));
    const char tag = static_cast<char>(number << 3 | 2);
    text({&tag, 1});
  }
  void text_field(uint32_t number, std::string_view bytes) {
    const char* end = at_;
    text(bytes);
    field(number, end);
  }
  const char* position() const { return at_; }
  size_t size() const { return failed_ ? 0 : static_cast<size_t>(end_ - at_); }

 private:
  void varint(uint64_t value) {
    char bytes[10];
    size_t size = 0;
    for (; value >= 0x80; value >>= 7) bytes[size++] = static_cast<char>(value | 0x80);
    bytes[size++] = static_cast<char>(value);
    text({bytes, size});
  }

  char* begin_;
  char* at_;
  char* end_;
  bool failed_ = false;
};

void put_string_attribute(BackwardWriter& out, uint32_t number, std::string_view key, std::string_view value) {
  const char* end = out.position();
  out.text_field(1, value);  // AnyValue.string_value
  out.field(2, end);
  out.text_field(1, key);
  out.field(number, end);
}

// No names: our thread records have no attributes.
void put_empty_array_attribute(BackwardWriter& out, uint32_t number, std::string_view key) {
  const char* end = out.position();
  out.text_field(5, {});  // AnyValue.array_value
  out.field(2, end);
  out.text_field(1, key);
  out.field(number, end);
}

struct Mapping {
  ProcessContextHeader* header = nullptr;
  char* payload(int slot) const { return reinterpret_cast<char*>(header) + pool::kPageBytes + slot * kPayloadRoom; }
};

void* map_named() {
  int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
  if (fd < 0) fd = memfd_create("OTEL_CTX", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  void* memory = MAP_FAILED;
  if (fd >= 0 && ftruncate(fd, kMappingBytes) == 0) {
    memory = mmap(nullptr, kMappingBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  }
  if (fd >= 0) close(fd);
  if (memory != MAP_FAILED) return memory;
  return mmap(nullptr, kMappingBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

void name(void* memory) {
  prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, memory, kMappingBytes, "OTEL_CTX");
}

Mapping mapping() {
  if (void* known = live().process_context.load(std::memory_order_acquire)) {
    return {static_cast<ProcessContextHeader*>(known)};
  }
  void* memory = map_named();
  if (memory == MAP_FAILED) return {};
  madvise(memory, kMappingBytes, MADV_DONTFORK);
  live().process_context.store(memory, std::memory_order_release);
  return {static_cast<ProcessContextHeader*>(memory)};
}

uint64_t boot_nano() {
  timespec now;
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// Readers look while this happens: zero says so, and the time that it was published at changes with each edition.
void write_context(const Mapping& to, const char* payload, size_t size) {
  std::atomic_ref<uint64_t> published(to.header->published_nano);
  published.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  to.header->version = 2;
  to.header->payload_bytes = static_cast<uint32_t>(size);
  to.header->payload = payload;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  published.store(boot_nano(), std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  std::memcpy(to.header->signature, "OTEL_CTX", sizeof to.header->signature);
  name(to.header);
}

void publish_edition(const Mapping& to) {
  uint32_t edition;
  const ResourceText& resource = current_resource(edition);
  char* room = to.payload(edition == 1 ? 0 : 1);
  const size_t size = encode_process_context(resource, static_cast<uint64_t>(getpid()), room, kPayloadRoom);
  if (size != 0) write_context(to, room + kPayloadRoom - size, size);
}

}  // namespace

size_t encode_process_context(const ResourceText& resource, uint64_t pid, char* buffer, size_t size) {
  BackwardWriter out(buffer, size);
  put_empty_array_attribute(out, 2, "threadlocal.attribute_key_map");
  put_string_attribute(out, 2, "threadlocal.schema_version", "tlsdesc_v1_dev");
  const char* end = out.position();
  char digits[24];
  const int length = std::snprintf(digits, sizeof digits, "%llu", static_cast<unsigned long long>(pid));
  put_string_attribute(out, 1, "process.pid", {digits, static_cast<size_t>(length)});
  std::string_view key, value;
  for (size_t at = 0; resource.next(at, key, value);) put_string_attribute(out, 1, key, value);
  out.field(1, end);
  return out.size();
}

// Whoever finds it under way leaves it to the other, who looks once more afterwards.
void publish_process_context() {
  uint32_t before, after;
  do {
    if (live().publishing.exchange(1, std::memory_order_seq_cst) != 0) return;
    current_resource(before);
    if (const Mapping to = mapping(); to.header != nullptr) publish_edition(to);
    live().publishing.store(0, std::memory_order_seq_cst);
    current_resource(after);
  } while (before != after);
}

}  // namespace fathom::client
