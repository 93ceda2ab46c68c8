// Scope: what a token lets its bearer do. Scopes: a set of them.
//
// Purpose: a listener asks for one scope per request or call; a token has some (tokens.h). Thread safety: plain values.
// Errors: an unknown name gives no scope.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fathom::net {

enum class Scope : uint8_t {
  kIngest,     // send spans over OTLP
  kAgent,      // be an agent: send spans, captures and snapshots, and get what agents are told
  kQuery,      // read what the server has, except snapshots
  kControl,    // request captures, and switch tracepoints
  kSnapshots,  // read, store and share snapshots, which have a program's instructions
  kPurge,      // delete stored spans and captures
};

inline constexpr std::array<std::string_view, 6> kScopeNames = {"ingest",  "agent",     "query",
                                                                "control", "snapshots", "purge"};
static_assert(static_cast<size_t>(Scope::kPurge) + 1 == kScopeNames.size(), "each scope has a name");

inline constexpr std::string_view name_of(Scope scope) {
  return kScopeNames[static_cast<size_t>(scope)];
}

class Scopes {
 public:
  constexpr Scopes() = default;
  static constexpr Scopes all() { return Scopes((1U << kScopeNames.size()) - 1); }

  constexpr bool has(Scope scope) const { return (bits_ & bit(scope)) != 0; }
  constexpr void add(Scope scope) { bits_ |= bit(scope); }
  constexpr bool operator==(const Scopes&) const = default;

  // "query,control".
  std::string text() const {
    std::string text;
    for (size_t i = 0; i < kScopeNames.size(); ++i) {
      if (!has(static_cast<Scope>(i))) continue;
      if (!text.empty()) text += ',';
      text += kScopeNames[i];
    }
    return text;
  }
  // The reverse; no value: one of the names is none, or there is none.
  static constexpr std::optional<Scopes> of(std::string_view text) {
    Scopes scopes;
    for (bool more = true; more;) {
      const size_t comma = text.find(',');
      more = comma != std::string_view::npos;
      const std::optional<Scope> scope = scope_of(text.substr(0, comma));
      if (!scope) return std::nullopt;
      scopes.add(*scope);
      if (more) text.remove_prefix(comma + 1);
    }
    return scopes;
  }

 private:
  constexpr explicit Scopes(uint32_t bits) : bits_(bits) {}
  static constexpr uint32_t bit(Scope scope) { return 1U << static_cast<uint32_t>(scope); }
  static constexpr std::optional<Scope> scope_of(std::string_view name) {
    for (size_t i = 0; i < kScopeNames.size(); ++i) {
      if (kScopeNames[i] == name) return static_cast<Scope>(i);
    }
    return std::nullopt;
  }

  uint32_t bits_ = 0;
};

}  // namespace fathom::net
