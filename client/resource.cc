#include "client/resource.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "client/process.h"

namespace fathom::client {
namespace {

// The second is what fathom_set_resource() makes of the first. Never more: readers keep references.
constinit ResourceText editions[2] = {};
constinit std::atomic<uint32_t> latest{0};
constinit std::atomic<bool> set_before{false};

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c |= 0x20;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// What is no escape stays as it is.
size_t unescape(std::string_view text, char* out) {
  size_t size = 0;
  for (size_t i = 0; i < text.size(); i++) {
    const bool escape =
        text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 && hex_digit(text[i + 2]) >= 0;
    out[size++] = escape ? static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2])) : text[i];
    if (escape) i += 2;
  }
  return size;
}

std::string_view executable_name(char* buffer, size_t size) {
  const ssize_t length = readlink("/proc/self/exe", buffer, size);
  std::string_view name = length > 0 ? std::string_view(buffer, static_cast<size_t>(length)) : program_invocation_name;
  return part(name, name.rfind('/') + 1);
}

std::string_view environment(const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? std::string_view() : value;
}

void put_defaults(ResourceText& text) {
  char path[4096];
  const std::string_view name = executable_name(path, sizeof path);
  text.put("service.name", name);
  text.put("process.executable.name", name);
  utsname host;
  if (uname(&host) == 0) text.put("host.name", host.nodename);
  text.put("telemetry.sdk.name", "fathom");
  text.put("telemetry.sdk.language", "cpp");
  text.put("telemetry.sdk.version", FATHOM_VERSION);
}

void put_service_name(ResourceText& text) {
  if (std::string_view name = environment("OTEL_SERVICE_NAME"); !name.empty()) text.put("service.name", name);
}

std::string_view decimal(uint64_t value, char* buffer, size_t size) {
  size_t at = size;
  do {
    buffer[--at] = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value != 0);
  return {buffer + at, size - at};
}

size_t write_record(char* to, std::string_view key, std::string_view value) {
  const uint16_t sizes[2] = {static_cast<uint16_t>(key.size()), static_cast<uint16_t>(value.size())};
  std::memcpy(to, sizes, sizeof sizes);
  std::memcpy(to + 4, key.data(), key.size());
  copy_text(to + 4 + key.size(), value.data(), value.size());
  return 4 + key.size() + value.size();
}

void count_dropped(uint32_t attributes) {
  if (attributes != 0) count_loss(pool::kLostAttributes, attributes);
}

constexpr size_t kPidRoom = 64;  // of area 3, for the one attribute that differs after a fork

}  // namespace

bool ResourceText::next(size_t& at, std::string_view& key, std::string_view& value) const {
  if (at >= size_) return false;
  uint16_t sizes[2];
  std::memcpy(sizes, bytes_ + at, sizeof sizes);
  key = {bytes_ + at + 4, sizes[0]};
  value = {bytes_ + at + 4 + sizes[0], sizes[1]};
  at += 4 + size_t{sizes[0]} + sizes[1];
  return true;
}

void ResourceText::remove(std::string_view wanted) {
  size_t at = 0, begin = 0;
  std::string_view key, value;
  while (begin = at, next(at, key, value)) {
    if (key != wanted) continue;
    std::memmove(bytes_ + begin, bytes_ + at, size_ - at);
    size_ -= static_cast<uint32_t>(at - begin);
    return;
  }
}

bool ResourceText::put(std::string_view key, std::string_view value) {
  if (key.empty()) return false;
  remove(key);
  if (key.size() + value.size() + 4 > sizeof bytes_ - kPidRoom - size_) {
    dropped_++;
    return false;
  }
  size_ += static_cast<uint32_t>(write_record(bytes_ + size_, key, value));
  return true;
}

void ResourceText::put_list(std::string_view list) {
  char value[pool::kResourceBytes];
  while (!list.empty()) {
    const size_t comma = list.find(',');
    const std::string_view pair = part(list, 0, comma);
    list = comma == std::string_view::npos ? std::string_view() : part(list, comma + 1);
    const size_t equals = pair.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view text = trim(part(pair, equals + 1));
    if (text.size() > sizeof value) {
      dropped_++;
    } else {
      put(trim(part(pair, 0, equals)), {value, unescape(text, value)});
    }
  }
}

void gather_resource() {
  put_defaults(editions[0]);
  editions[0].put_list(environment("OTEL_RESOURCE_ATTRIBUTES"));
  put_service_name(editions[0]);
  count_dropped(editions[0].dropped());
}

bool set_resource(std::string_view list) {
  if (set_before.exchange(true)) return false;
  std::memcpy(&editions[1], &editions[0], sizeof editions[1]);
  editions[1].put_list(list);
  put_service_name(editions[1]);
  count_dropped(editions[1].dropped() - editions[0].dropped());
  latest.exchange(1);  // and then the caller looks for a pool, while who makes one looks here afterwards
  return true;
}

const ResourceText& current_resource(uint32_t& edition) {
  const uint32_t number = latest.load(std::memory_order_acquire);
  edition = number + 1;
  return editions[number];
}

void write_resource(pool::Header& header, char* area) {
  uint64_t state = header.resource.load(std::memory_order_relaxed);
  const uint64_t odd = uint64_t{1} << 32;
  if ((state & odd) != 0 || !header.resource.compare_exchange_strong(state, state + odd, std::memory_order_acquire))
    return;
  std::atomic_thread_fence(std::memory_order_release);  // odd is seen before any of the new bytes
  uint32_t edition;
  const std::string_view text = current_resource(edition).bytes();
  std::memcpy(area, text.data(), text.size());
  char digits[20];
  const size_t size = text.size() + write_record(area + text.size(), "process.pid",
                                                 decimal(static_cast<uint64_t>(getpid()), digits, 20));
  const uint64_t version = (state >> 32) + 2;
  header.resource.store(version << 32 | size, std::memory_order_release);
}

}  // namespace fathom::client
