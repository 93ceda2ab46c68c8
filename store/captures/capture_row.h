// The rows of captures: the header of a capture as a value, and the keys of its rows (docs/formats/captures.md).
//
// Purpose: the format, apart from the database that holds it. Thread safety: pure functions. Errors: decoding treats
// its input as hostile; what it gives satisfies check().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "store/capture.h"
#include "store/capture_store.h"

namespace fathom::store {

std::string encode_capture(const CaptureInfo& info);  // all but tenant and id, which are in the key
Result<CaptureInfo> decode_capture(std::string_view key, std::string_view value);

// The value of an index row by content: how large the file is.
std::string encode_content_size(uint64_t size_bytes);
Result<uint64_t> decode_content_size(std::string_view value);

// Keys of the family `capture`, and of `capture_index` by what they find. All index keys end with the capture's id.
namespace capture_keys {

inline constexpr size_t kIdBytes = 16;
inline constexpr size_t kContentPrefix = 4 + 1 + 32;

std::string capture(const CaptureId& id);
std::string receptions();  // what the keys by reception begin with
std::string reception(uint64_t received_unix_nano, const CaptureId& id);
std::string content_prefix(const Sha256& hash);
std::string contents();  // what the keys by content begin with
std::string content(const Sha256& hash, const CaptureId& id);

// Series by start of the window: of everything, a trace, a service (which is by hash: a reader
// compares the row), a process.
std::string all_series();
std::string trace_series(const TraceId& id);
std::string traces();                          // what the series of traces begin with
TraceId trace_of(std::string_view trace_key);  // zero for a key that is too short
std::string service_series(std::string_view service);
std::string process_series(const CaptureProcess& process);
std::string at(std::string series, uint64_t start_unix_nano, const CaptureId& id);

CaptureId id_of(std::string_view key);  // zero for a key that is too short
Sha256 hash_of(std::string_view content_key);
// The instant before the id, of a reception or a place in a series.
uint64_t instant_of(std::string_view key);

}  // namespace capture_keys

}  // namespace fathom::store
