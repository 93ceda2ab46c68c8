// Trait: something that a span, or a request, may have; what differences compares.
//
// Purpose: the words of one difference. Of a request's spans the service that says it belongs to it, of their times the
// operation, too. Thread safety: plain values. Units: self times are nanoseconds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fathom::query {

enum class TraitOf : uint8_t {
  kOperation,
  kService,
  kStatus,
  kAttribute,
  kResource,
  kError,     // of requests: a span of the operation failed
  kCalls,     // spans of the operation in the request
  kSelfTime,  // of them together: their durations without what their children cover
};
std::string_view trait_of_name(TraitOf of);

enum class TraitIs : uint8_t { kEqual, kAtLeast, kAtMost, kOneOf };
std::string_view trait_is_name(TraitIs is);  // "=", ">=", "<=", "in"

struct TraitView {
  TraitOf of = TraitOf::kOperation;
  std::string_view service;    // of requests: whose span says it
  std::string_view operation;  // of errors, calls and self times
  std::string_view key;        // of attributes and resources
  std::string_view value;
};

struct Trait {
  TraitOf of = TraitOf::kOperation;
  std::string service;
  std::string operation;
  std::string key;
  TraitIs is = TraitIs::kEqual;
  std::string value;

  Trait() = default;
  explicit Trait(const TraitView& view)
      : of(view.of), service(view.service), operation(view.operation), key(view.key), value(view.value) {}
};

}  // namespace fathom::query
