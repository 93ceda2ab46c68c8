// This process's resource, published for whoever looks from outside: OTEP 4719.
//
// Purpose: profilers find in /proc/PID/maps a mapping called OTEL_CTX, whose header leads to a protobuf with the
// resource and with the name of the thread record's format (OTEP 4947). Thread safety: any thread outside of signal
// handlers; one at a time publishes, another's attempt is left out. Ownership: the mapping lives as long as the
// process.
#pragma once

#include <cstddef>
#include <cstdint>

#include "client/resource.h"

namespace fathom::client {

struct ProcessContextHeader {
  char signature[8];  // "OTEL_CTX", written last
  uint32_t version;   // 2
  uint32_t payload_bytes;
  uint64_t published_nano;  // CLOCK_BOOTTIME; 0 while it changes
  const char* payload;
};
static_assert(sizeof(ProcessContextHeader) == 32);

// For the first time, or again after the resource has changed.
void publish_process_context();

// The payload, a ProcessContext message, at the buffer's end; its size, 0 when the buffer is too small.
size_t encode_process_context(const ResourceText& resource, uint64_t pid, char* buffer, size_t size);

}  // namespace fathom::client
