// Content coding of OTLP bodies: what gzip holds, within the limits and out of the budget.
//
// Thread safety: as Ingest. Ownership: the text is the caller's. Errors: as net::gunzip, and kUnavailable or kExhausted
// as Ingest::take says.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "collector/ingest.h"
#include "net/gzip.h"

namespace fathom::collector {

inline Result<std::string> inflate(Ingest& ingest, std::string_view body, Reservation& memory) {
  Result<> taken;
  Result<std::string> text = net::gunzip(body, ingest.options().max_request_bytes, [&](uint64_t bytes) {
    taken = ingest.take(memory, bytes);
    return taken.ok();
  });
  if (!taken.ok()) return taken.error();
  return text;
}

}  // namespace fathom::collector
