// What a decoder makes of one OTLP request: batches for the store, and an account of everything that is not in them.
//
// Purpose: the two decoders (protobuf, JSON) meet here; the same request gives the same batches from either.
// Ownership: batches own their bytes; nothing points into the request. Thread safety: plain values.
// Errors of decoding: kInvalid for a malformed request, or whatever GrowMemory said; nothing of it is stored then.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "redact/redactor.h"
#include "store/batch.h"

namespace fathom::collector {

// Why a span was refused while the rest of its request was taken.
enum class Rejection : uint8_t { kTraceId, kSpanId, kParentSpanId };
inline constexpr size_t kRejections = static_cast<size_t>(Rejection::kParentSpanId) + 1;
std::string_view rejection_label(Rejection reason);  // the `reason` in metrics
std::string_view rejection_rule(Rejection reason);   // what such a span breaks, for people

// What a stored span lost, or had changed, on its way.
enum class Loss : uint8_t { kAttributeDepth, kAttributeLimit, kEventLimit, kLinkLimit, kLinkId, kTextRepaired };
inline constexpr size_t kLosses = static_cast<size_t>(Loss::kTextRepaired) + 1;

// What is strange about a stored span that lost nothing: it has a duration of 0 then.
enum class Oddity : uint8_t { kEndBeforeStart, kNoEnd };
inline constexpr size_t kOddities = static_cast<size_t>(Oddity::kNoEnd) + 1;
std::string_view oddity_label(Oddity oddity);  // the `oddity` in metrics

struct Decoded {
  std::vector<store::BatchPtr> batches;
  uint64_t accepted_spans = 0;
  uint64_t rejected_spans = 0;
  std::array<uint64_t, kRejections> rejections{};
  std::array<uint64_t, kLosses> losses{};
  std::array<uint64_t, kOddities> oddities{};
  RedactCounts redacted{};
};

// What a sender says of all spans of a request, beside the request: nothing over OTLP, both when it is an agent.
struct Stamp {
  std::optional<ClockOffset> clock;
  std::optional<Hash128> identity;
};

// Asked before `bytes` more are taken; an error ends the decoding and becomes its result.
using GrowMemory = std::function<Result<>(uint64_t bytes)>;

// Arrays and maps in attribute values are followed this deep; a deeper value is lost, and counted.
inline constexpr unsigned kMaxValueDepth = 32;

// An ExportTraceServiceRequest as protobuf or as OTLP/JSON. The rules of `redactor` are applied first: batches, their
// identities and their observers never have what it removes. Null: no rules.
Result<Decoded> decode_protobuf(std::string_view body, const store::BatchLimits& limits, const GrowMemory& grow,
                                const Stamp& stamp = {}, const Redactor* redactor = nullptr);
Result<Decoded> decode_json(std::string_view body, const store::BatchLimits& limits, const GrowMemory& grow,
                            const Redactor* redactor = nullptr);

}  // namespace fathom::collector
